"""Solvent accessible surface area."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, changing_surface_area, surface_area
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.base.frame_columns import wide_columns
from mdreel.analysis.choices import AreaMode
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.radii import radii_of
from mdreel.analysis.topology.residue_labels import ResidueLabels, atom_columns, atom_coordinates
from mdreel.errors import MdreelWarning, MismatchError, UnsupportedError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.stack_level import caller_level
from mdreel.foundation.unit_check import check_radius
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Selection, atoms_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class SASA(Analysis):
    """Compute the solvent accessible surface area of atoms or residues over a trajectory.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms whose area is computed.
    probe_radius : float
        Radius of the probe in Å. By default, the radius of a water molecule, 1.4, is used.
    n_sphere_points : int
        Number of points on the sphere around each atom. You can use more points to improve the accuracy, but this
        increases the run time.
    mode : {"atom", "residue", "total"}
        Whether to keep the area of each atom, of each residue (summed over its atoms in the group), or only the total
        area. The total area is always available.
    radii : mapping of str to float, or array_like, shape (n_surface,), float64, optional
        Van der Waals radii in Å. You can pass a mapping by element to replace values in the built-in table, or one
        radius per atom of `surface`.
    surface : MDAnalysis.AtomGroup, optional
        All atoms that can bury each other, for example a ligand together with the protein that binds it. These must
        include `atomgroup`. The default is `atomgroup` alone. If this is an UpdatingAtomGroup, only the atoms selected
        in a frame can bury each other.
    average : bool
        Whether to keep only the mean and the variance over all frames, which need less memory than the areas. For an
        UpdatingAtomGroup, we only average over frames in which the atom (or at least one atom of the residue) is
        selected. This average is NaN if there are no such frames.
    pbc : bool
        Whether to take periodic images into account, which requires a cell in every frame.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.

    Attributes
    ----------
    results.total_area : ndarray, shape (n_frames,), float64
        Total area of the group in Å^2, where each atom is counted once. It is 0 in frames in which no atom is selected.
    results.sasa : ndarray, shape (n_frames, n_atoms) or (n_frames, n_residues), float64
        Areas of the atoms in the order of the group, or of the residues in the order of ``atomgroup.residues``, in Å^2.
        Not available with ``mode="total"`` or `average`.
    results.residue_area : ndarray, shape (n_frames, n_residues), float64
        The same array as `results.sasa`. Only available with ``mode="residue"``.
    residue_labels : list of str
        Label of each residue, such as ``"ALA 5"``, or ``"A ALA 5"`` for systems with several segments.
    results.mean : ndarray, shape (n_atoms,) or (n_residues,), float64
        Mean area in Å^2. Only available with `average`.
    results.variance : ndarray, shape (n_atoms,) or (n_residues,), float64
        Population variance of the area in Å^4. Only available with `average`.
    results.n_selected : ndarray, shape (n_atoms,) or (n_residues,), int64
        Number of frames in which an atom, or an atom of a residue, is selected. Only available with `average` and an
        UpdatingAtomGroup, for which arrays contain all atoms or residues that can be selected, in the order of the
        topology.

    Raises
    ------
    SelectionError
        When your group is empty, or your topology contains neither elements nor atom names.
    MismatchError
        When an element has no radius, radii or other numbers are invalid, or your atoms are not all in `surface`.
    UnsupportedError
        When `surface` is an UpdatingAtomGroup. When `atomgroup` is an UpdatingAtomGroup, and you use neither
        ``mode="total"`` nor `average`.

    Warns
    -----
    MdreelWarning
        If an UpdatingAtomGroup has no area in any frame.

    Notes
    -----
    The radius of the sphere around an atom is the sum of its van der Waals radius and the probe radius. To obtain the
    area of the atom, the area of this sphere is multiplied by the fraction of points on the sphere that lie outside all
    other spheres [1]_. The points are placed on a golden spiral, as in `mdtraj.shrake_rupley`. However, that function
    uses single precision, so its areas differ slightly. Van der Waals radii are taken from Bondi [2]_ and Mantina et
    al. [3]_, and depend on the elements in the topology, or on the elements that MDAnalysis guesses from atom names.
    Note that these are radii of neutral atoms, whereas mdtraj uses ionic radii for some elements. If you would like to
    use ionic radii, set ``radii={"Na": 1.02, "Cl": 1.81}``, for example.

    Neighbours are found using a cell list, so the run time grows linearly with the number of atoms. As sums over frames
    are exact, results are bitwise identical for every executor and any number of workers and blocks. You will need 8
    bytes of memory per area and frame (twice as much while the areas are sorted), or 24 bytes per frame if you use
    `average`.

    References
    ----------
    .. [1] A. Shrake, J. A. Rupley, "Environment and exposure to solvent of protein atoms. Lysozyme and insulin",
       J. Mol. Biol. 79 (1973) 351-371.
    .. [2] A. Bondi, "van der Waals volumes and radii", J. Phys. Chem. 68 (1964) 441-451.
    .. [3] M. Mantina, A. C. Chamberlin, R. Valero, C. J. Cramer, D. G. Truhlar, "Consistent van der Waals radii for the
       whole main group", J. Phys. Chem. A 113 (2009) 5806-5812.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> protein = mda.Universe(PSF, DCD).select_atoms("protein")
    >>> areas = mdreel.SASA(protein, mode="residue").run(step=10)
    >>> areas.results.sasa.shape, areas.results.total_area.shape
    ((10, 214), (10,))
    """

    _may_change = True
    _units = MappingProxyType(
        {**dict.fromkeys(("total_area", "sasa", "residue_area", "mean"), "Å^2"), "variance": "Å^4"}
    )

    @checked_arguments
    def __init__(
        self,
        atomgroup: AtomGroup,
        probe_radius: float = 1.4,
        n_sphere_points: int = 960,
        mode: AreaMode = "atom",
        radii: Mapping[str, float] | ArrayLike | None = None,
        *,
        surface: AtomGroup | None = None,
        average: bool = False,
        pbc: bool = False,
        trajectory: Trajectory | None = None,
    ) -> None:
        super().__init__(atomgroup, trajectory)
        atomgroup = self.atomgroup
        if mode not in ("atom", "residue", "total"):
            raise MismatchError(f"mode must be 'atom', 'residue' or 'total', not {mode!r}")
        if average and mode == "total":
            raise MismatchError("average needs mode 'atom' or 'residue': mode 'total' has no other areas")
        if n_sphere_points < 1:
            raise MismatchError(f"n_sphere_points must be 1 or more, not {n_sphere_points}")
        self._probe_radius = check_radius("probe_radius", probe_radius, doubtful=0.5)
        self._n_sphere_points = int(n_sphere_points)
        self._mode, self._average, self._pbc = mode, average, pbc
        each = "residue" if mode == "residue" else "atom"
        self._result_dimensions = {
            "total_area": ("frame",),
            **dict.fromkeys(("sasa", "residue_area"), ("frame", each)),
            **dict.fromkeys(("mean", "variance", "n_selected"), (each,)),
        }
        if self._is_changing and not (average or mode == "total"):
            raise UnsupportedError(
                f"atomgroup is an UpdatingAtomGroup, whose atoms change from frame to frame; mode {mode!r} needs the "
                "same atoms in every frame: use mode='total', or average=True for means over the frames in which an "
                "atom is selected"
            )
        if self._is_changing and surface is None and not (radii is None or isinstance(radii, Mapping)):
            raise MismatchError("radii of atoms that change from frame to frame must be a mapping, or give surface")
        self._is_alone = surface is None
        covering = self._listed if surface is None else atoms_of(surface, name="surface")
        self._surface = Selection.of(covering, "surface")
        if covering.universe is not atomgroup.universe:
            raise MismatchError("surface is in another Universe than atomgroup")
        is_there = np.isin(self._measured_atoms, self._surface.atoms)
        if not is_there.all():
            raise MismatchError(f"surface lacks {(~is_there).sum():,} atoms of atomgroup: it must contain all of them")
        self._radii = self._gathered(radii_of(covering, radii))
        self._measured, self._places = self._areas()

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """Indices of the atoms of the surface and of the atoms that a selection needs, in ascending order."""
        return np.union1d(self._surface.atoms, self._selection.atoms) if self._is_changing else self._surface.atoms

    @property
    def molecules(self) -> NDArray[np.uint32]:
        """Indices of the atoms whose molecules must be whole if the analysis requires it, in ascending order."""
        return self._surface.atoms

    @property
    def _is_changing(self) -> bool:
        """Whether the group is selected again in each frame."""
        return self._selection.changing is not None

    @property
    def _listed(self) -> AtomGroup:
        """The group, or all atoms that can belong to a changing group."""
        return self.atomgroup.universe.atoms[self._selection.given] if self._is_changing else self.atomgroup

    @property
    def _measured_atoms(self) -> NDArray[np.integer]:
        """Indices of the atoms whose areas are computed, in ascending order."""
        return self._selection.given if self._is_changing else self._selection.atoms

    @property
    def mode(self) -> AreaMode:
        """Whether areas are kept for each atom, for each residue, or only in total."""
        return self._mode

    @property
    def labels(self) -> ResidueLabels:
        """Residue labels, with one entry per area."""
        return ResidueLabels.of(self._listed.residues if self._mode == "residue" else self._listed)

    @property
    def residue_labels(self) -> list[str]:
        """Text label of each residue of the group, in the order of ``atomgroup.residues``."""
        return ResidueLabels.of(self._listed.residues).texts

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("periodic images of atoms cover no atoms, unless pbc=True", whole=not self._pbc)

    def computation(self, source: Source) -> Computation:
        """Return the computation that determines the areas in each frame."""
        keep = "statistics" if self._average else "total" if self._mode == "total" else "all"
        given = self._radii, self._probe_radius, self._n_sphere_points, self._measured, self._pbc, keep
        if not self._is_changing:
            return surface_area(*given)
        group, places = self._selection.members(self.atoms), np.searchsorted(self.atoms, self._surface.atoms)
        return changing_surface_area(len(self.atoms), group, places.astype(np.uint32), *given, self._is_alone)

    def conclude(self, tally: Tally) -> None:
        """Sort areas, or compute averages from sums, in the order of the group."""
        total, areas = tally.values[:, 0], tally.values[:, 1:]
        self.results.total_area = total.copy()
        if self._average:
            n_frames = tally.counts if self._is_changing else tally.n_frames
            with np.errstate(invalid="ignore"):
                mean, square = tally.sums.reshape(-1, 2).T / n_frames
            self.results.mean = mean[self._places]
            self.results.variance = np.maximum(square - mean**2, 0.0)[self._places]
        elif self._mode != "total":
            is_in_order = np.array_equal(self._places, np.arange(areas.shape[1]))
            self.results.sasa = areas if is_in_order else areas[:, self._places]
        if self._mode == "residue" and not self._average:
            self.results.residue_area = self.results.sasa
        if self._is_changing and self._average:
            self.results.n_selected = tally.counts.astype(np.int64)
        if self._is_changing and not total.any():
            message = "no selected atom has an area in any frame: check the selection, whose distances are in Å"
            warnings.warn(message, MdreelWarning, stacklevel=caller_level())

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time and the areas, or one row per atom or residue for averages.

        The name of an area column is ``sasa_``, followed by the residue label or the index of the atom in the Universe.
        """
        results = self.results
        if self._average:
            labels = self.labels.columns() if self._mode == "residue" else atom_columns(self._listed)
            deviation = Column("sasa_std", "Å^2", np.sqrt(results.variance))
            columns = [*labels, Column("sasa", "Å^2", results.mean), deviation]
            return [*columns, Column("n_selected", "", results.n_selected)] if self._is_changing else columns
        if self._mode == "total":
            return wide_columns(self.frames, self.times, results.total_area[:, None], ["sasa"], "Å^2")
        each = self.labels.texts if self._mode == "residue" else map(str, self.atomgroup.ix)
        names = ["sasa", *(f"sasa_{one.lower().replace(' ', '_')}" for one in each)]
        values = np.column_stack([results.total_area, results.sasa])
        return wide_columns(self.frames, self.times, values, names, "Å^2")

    def _result_coordinates(self) -> list[LabelledArray]:
        of_residues = self._mode == "residue"
        labels = self.labels.coordinates() if of_residues else atom_coordinates(self._listed)
        return [*super()._result_coordinates(), *labels]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the total area over time, or the mean areas along the residues for residues and averages."""
        from mdreel.results.curves import profile
        from mdreel.results.figure import time_series

        if self._mode == "residue" or self._average:
            mean = self.results.mean if self._average else self.results.sasa.mean(axis=0)
            labels = self.labels
            return profile(labels.positions, mean, labels.axis, "SASA (Å²)", title, ax)
        total = self.results.total_area
        return time_series(self.times, total, "SASA (Å²)", title, ax, frames=self.frames, from_zero=False)

    def _gathered(self, radii: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the radii in the order in which the atoms are read."""
        places = self._surface.places
        gathered = np.empty(len(self._surface.atoms))
        gathered[places] = radii
        if not np.array_equal(gathered[places], radii):
            raise MismatchError("radii must give the same radius to all occurrences of an atom in surface")
        return gathered

    def _areas(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the atom and area index of each measured atom, shape (n_measured, 2), and the order of the areas."""
        atoms, places = self._measured_atoms, self._selection.places
        areas = np.arange(len(atoms))
        if self._is_changing:
            places = areas
        if self._mode == "residue":
            residues, areas = np.unique(self.atomgroup.universe.atoms.resindices[atoms], return_inverse=True)
            places = np.arange(len(residues))
        return np.stack([np.searchsorted(self._surface.atoms, atoms), areas], axis=1).astype(np.uint32), places
