"""Pairs of torsions in residues: phi and psi of the backbone, and chi1 and chi2 of side chains."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mdreel.analysis.dihedrals import QuadrupleAngles
from mdreel.analysis.topology.required_attributes import check_attributes
from mdreel.analysis.topology.residue_labels import ResidueLabels, residue_name, residue_names
from mdreel.analysis.topology.torsions import TORSIONS, Torsions, backbone_torsions, torsions_of
from mdreel.errors import MdreelWarning, SelectionError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.stack_level import caller_level
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, atoms_of, selected

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, ResidueGroup

_CHI = ("chi1", "chi2")


_MOST_VECTORS = 5000
"""Largest number of points that are drawn individually in vector graphics."""


class _TorsionPairs(QuadrupleAngles):
    """Two torsions in each residue, defined by five consecutive atoms."""

    _moved_to_results: ClassVar[Mapping[str, str]] = {"angles": "angles"}

    _result_dimensions = MappingProxyType({"angles": ("frame", "residue", "torsion")})

    _reference_name: ClassVar[str]
    """Name of the MDAnalysis file that contains the angles of reference structures."""
    _axis_labels: ClassVar[tuple[str, str]]
    _lowest: ClassVar[float]
    """Lower limit of the axes in degrees."""

    def __init__(
        self, atomgroup: AtomGroup, found: Torsions, trajectory: Trajectory | None, *, verbose: bool = False
    ) -> None:
        self.residues = found.residues[::2]
        self._torsions = found
        self._given = atomgroup
        super().__init__(atomgroup, found.atoms, "degrees", trajectory, verbose=verbose)

    @property
    def atomgroup(self) -> AtomGroup:
        """The group given by the user."""
        return self._given

    @property
    def residue_labels(self) -> list[str]:
        """Label of each residue."""
        return self._labels.texts

    @property
    def names(self) -> list[str]:
        """Names of the two angles of each residue, such as ``"phi ALA 5"`` and ``"psi ALA 5"``."""
        return self._torsions.names

    @property
    def _labels(self) -> ResidueLabels:
        indices = np.array([residue.ix for residue in self.residues], np.intp)
        return ResidueLabels.of(self._given.universe.residues[indices])

    @property
    def _torsion_labels(self) -> Sequence[str]:
        return self._torsions.kinds[:2]

    def _result_coordinates(self) -> list[LabelledArray]:
        return [*super()._result_coordinates(), *self._labels.coordinates()]

    @checked_arguments
    def plot(  # type: ignore[override]  # MDAnalysis returns axes here
        self, ax: Axes | None = None, ref: bool = False, **kwargs: Any
    ) -> Axes:
        """Draw the two angles of all residues and frames as points.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. The default is the current pyplot axes.
        ref : bool
            Whether to show the regions with 90 % and 99 % of the residues in MDAnalysis's reference structures.
        **kwargs
            Options for `matplotlib.axes.Axes.scatter`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from mdreel.results.torsion_plot import torsion_plot

        self._done()
        regions = _reference(self._reference_name) if ref else None
        labels = self._axis_labels
        return torsion_plot(self.results.angles.reshape(-1, 2), labels, self._lowest, regions, ax, kwargs)

    @checked_arguments
    def draw_points(self, title: str, ax: Axes | None = None, *, regions: bool = False) -> Figure:
        """Draw the two angles of all residues and frames as points. With `regions`, also draw MDAnalysis's regions."""
        from mdreel.results.canvas import canvas, figure_of
        from mdreel.results.style import RAW_ALONE

        n_points = self.results.angles.size // 2
        with canvas(ax, title, (6.9, 6.6), grid=None) as axes:
            axes.set_box_aspect(1)
            self.plot(axes, regions, s=6, color=RAW_ALONE, linewidths=0, rasterized=n_points > _MOST_VECTORS)
        return figure_of(axes)

    @property
    def ag1(self) -> AtomGroup:
        """First atom of the first torsion of each residue."""
        return self._atomgroup[0::8]

    @property
    def ag2(self) -> AtomGroup:
        """Second atom of the first torsion of each residue."""
        return self._atomgroup[1::8]

    @property
    def ag3(self) -> AtomGroup:
        """Third atom of the first torsion of each residue."""
        return self._atomgroup[2::8]

    @property
    def ag4(self) -> AtomGroup:
        """Fourth atom of the first torsion of each residue."""
        return self._atomgroup[3::8]

    @property
    def ag5(self) -> AtomGroup:
        """Last atom of the second torsion of each residue."""
        return self._atomgroup[7::8]

    def conclude(self, tally: Tally) -> None:
        """Store the angles as pairs."""
        super().conclude(tally)
        self.results.angles = self.results.angles.reshape(tally.n_frames, len(self.residues), 2)


class Ramachandran(_TorsionPairs):
    """Compute the backbone torsions phi and psi of residues over a trajectory.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup, ResidueGroup or Universe
        A protein or some of its residues. You will see a warning about residues that are omitted because they lack phi
        or psi, or because an atom of these torsions occurs twice.
    c_name, n_name, ca_name : str
        Names of the backbone atoms. You can give several names for an atom, separated by spaces.
    check_protein : bool
        Whether to check that MDAnalysis recognizes all residues as protein. The first and the last residue of the
        protein will then be omitted, as in MDAnalysis.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.angles : ndarray, shape (n_frames, n_residues, 2), float64
        phi and psi of the residues in degrees, from -180 to 180.
    residues : tuple of MDAnalysis.core.groups.Residue
        The residues.
    residue_labels : list of str
        Label of each residue, such as ``"ALA 5"``, or ``"A ALA 5"`` for systems with several segments.
    ag1, ag2, ag3, ag4, ag5 : MDAnalysis.AtomGroup
        C of the previous residue, N, CA and C, and N of the next residue, for each residue.

    Raises
    ------
    SelectionError
        With `check_protein`, if no residue has both torsions, or a residue is not protein.

    Warns
    -----
    MdreelWarning
        When residues are omitted. (If you do not use `check_protein`, all residues may be omitted, so that the results
        are empty.) When the neighbours of a residue differ from those in MDAnalysis because of insertion codes or
        bonds.

    Notes
    -----
    See `Dihedral`. You will need 16 bytes of memory per residue and frame, and 16 bytes per frame.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> ramachandran = mdreel.Ramachandran(u.select_atoms("resid 2:213")).run()
    >>> ramachandran.results.angles.shape
    (98, 212, 2)
    """

    _reference_name = "Rama_ref"
    _axis_labels = "φ (degrees)", "ψ (degrees)"
    _lowest = -180

    @checked_arguments
    def __init__(
        self,
        atomgroup: Atoms,
        c_name: str = "C",
        n_name: str = "N",
        ca_name: str = "CA",
        check_protein: bool = True,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        atomgroup = atoms_of(atomgroup)
        check_attributes(atomgroup, "names", "resids", "resnames")
        residues = atomgroup.residues
        allowed = _inner_residues(residues) if check_protein else residues
        definitions = backbone_torsions(tuple(c_name.split()), tuple(n_name.split()), tuple(ca_name.split()))
        if len(allowed) == 0:
            message = f"no residue of the {len(atomgroup):,} atoms has all of the torsions phi, psi"
            raise SelectionError(f"{message}: select inner residues of a protein")
        found = torsions_of(
            allowed.atoms,
            ("phi", "psi"),
            complete=True,
            definitions=definitions,
            unambiguous=True,
            may_be_none=not check_protein,
        )
        super().__init__(atomgroup, found, trajectory, verbose=verbose)
        _warn_of_others(residues, self.residues, "at an end of the protein or without one phi and psi")

    def plot_distribution(self, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Draw the joint distribution of phi and psi over all residues and frames. See `Analysis.plot`."""
        return QuadrupleAngles.plot(self, ax, title)

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the joint distribution of phi and psi over all residues and frames."""
        from mdreel.results.maps import ramachandran

        if not self.residues:
            raise SelectionError("there are no angles to draw, because no residue has phi and psi")
        return ramachandran(self.results.angles.reshape(-1, 2), title, ax)


class Janin(_TorsionPairs):
    """Compute the side chain torsions chi1 and chi2 of residues over a trajectory.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup, ResidueGroup or Universe
        A protein or some of its residues.
    select_remove : str
        Selection of the residues to omit because they have no chi2.
    select_protein : str
        Selection of protein residues.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.angles : ndarray, shape (n_frames, n_residues, 2), float64
        chi1 and chi2 of each residue in degrees, from 0 to 360.
    residues : tuple of MDAnalysis.core.groups.Residue
        The residues.
    residue_labels : list of str
        Label of each residue, such as ``"LYS 5"``, or ``"A LYS 5"`` if there are several segments.
    ag1, ag2, ag3, ag4, ag5 : MDAnalysis.AtomGroup
        N, CA, CB and the next two atoms of the side chain, for each residue.

    Raises
    ------
    SelectionError
        When a residue is not protein, or an atom of chi1 or chi2 is missing or occurs twice (for example due to
        alternate locations). When no residues remain.

    Warns
    -----
    MdreelWarning
        If residues are omitted.

    Notes
    -----
    See `Dihedral`, and `Dihedrals` for chi3 and chi4. You will need 16 bytes of memory per residue and frame, and 16
    bytes per frame.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> mdreel.Janin(mda.Universe(PSF, DCD).select_atoms("resname LYS")).run().results.angles.shape
    (98, 18, 2)
    """

    _reference_name = "Janin_ref"
    _axis_labels = "χ₁ (degrees)", "χ₂ (degrees)"
    _lowest = 0

    @checked_arguments
    def __init__(
        self,
        atomgroup: Atoms,
        select_remove: str = "resname ALA CYS* GLY PRO SER THR VAL",
        select_protein: str = "protein",
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        atomgroup = atoms_of(atomgroup)
        check_attributes(atomgroup, "names", "resids", "resnames")
        residues = atomgroup.residues
        protein = selected(residues.atoms, select_protein, "select_protein", may_be_empty=True)
        removed = selected(residues.atoms, select_remove, "select_remove", may_be_empty=True)
        _check_protein(residues, protein.residues, "select_protein")
        kept = residues - removed.residues
        if len(kept) == 0:
            raise SelectionError(
                f"no residue of the {len(atomgroup):,} atoms has chi1 and chi2: select residues with longer side chains"
            )
        _check_side_chains(kept)
        found = torsions_of(kept.atoms, _CHI, complete=True)
        if len(found.residues) < 2 * len(kept):
            complete = {residue.ix for residue in found.residues}
            lacking = next(residue for residue in kept if residue.ix not in complete)
            raise SelectionError(f"{residue_name(lacking)} lacks an atom of chi1 or chi2: add it to select_remove")
        super().__init__(atomgroup, found, trajectory, verbose=verbose)
        _warn_of_others(residues, self.residues, f"because they match select_remove, {select_remove!r}")

    def conclude(self, tally: Tally) -> None:
        """Store the angles as pairs of chi1 and chi2, from 0 to 360 degrees."""
        super().conclude(tally)
        angles = self.results.angles
        self.results.angles = np.where(angles < 0, angles + 360, angles)

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw chi1 and chi2 of all residues and frames as points."""
        return self.draw_points(title, ax)


def _inner_residues(residues: ResidueGroup) -> ResidueGroup:
    """Check that all residues are protein, and return them without the first and the last residue of the protein."""
    protein = residues.universe.select_atoms("protein").residues
    _check_protein(residues, protein, "check_protein=False")
    return residues - protein[[0, -1]]


def _check_protein(residues: ResidueGroup, protein: ResidueGroup, remedy: str) -> None:
    """Raise an error if a residue is not protein."""
    is_protein = np.isin(residues.resindices, protein.resindices)
    if not is_protein.all():
        other = residues[int(is_protein.argmin())]
        raise SelectionError(f"{residue_name(other)} is not protein: select other residues, or give {remedy}")


def _check_side_chains(residues: ResidueGroup) -> None:
    """Raise an error if a residue has an atom of chi1 or chi2 twice."""
    alternatives = {names for kind in _CHI for _, names in TORSIONS[kind]}
    for residue in residues:
        names = residue.atoms.names
        for one in alternatives:
            present = names[np.isin(names, one)]
            if len(present) > 1:
                found = f"{residue_name(residue)} has {len(present)} atoms {' '.join(sorted(present))}"
                raise SelectionError(f"{found}, where chi1 and chi2 need one: select one alternate location")


def _warn_of_others(given: ResidueGroup, used: tuple[Any, ...], why: str) -> None:
    """Warn about residues that are omitted."""
    left = given[~np.isin(given.resindices, [residue.ix for residue in used])]
    if len(left):
        message = f"{len(left):,} of {len(given):,} residues are left out, {why}: {residue_names(left)}"
        message += "" if used else "; none is left, and the results are empty"
        warnings.warn(message, MdreelWarning, stacklevel=caller_level())


def _reference(name: str) -> Any:
    """Return MDAnalysis's counts of residues in reference structures, in bins of both angles."""
    from MDAnalysis.analysis.data import filenames

    return np.load(getattr(filenames, name), allow_pickle=False)
