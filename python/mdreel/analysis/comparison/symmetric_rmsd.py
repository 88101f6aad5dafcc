"""RMSD of a molecule that takes equivalent atoms into account."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, symmetric_rmsd
from mdreel.analysis.base.frame_columns import wide_columns
from mdreel.analysis.comparison.equivalent_atoms import equivalent_orders
from mdreel.analysis.comparison.reference_comparison import ReferenceComparison
from mdreel.analysis.topology.matching import MASS_TOLERANCE, described_atom
from mdreel.analysis.topology.radii import elements_of
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments_but
from mdreel.results.column import Column
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, SelectBoth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_ORDERS = 10_000


class SymmetricRMSD(ReferenceComparison):
    """Compute the RMSD of a molecule over a trajectory, using the best assignment of equivalent atoms.

    Parameters
    ----------
    atomgroup, reference, ref_frame, tol_mass, match_atoms, trajectory, verbose
        The atoms, the structure to compare with and the trajectory. See `mdreel.RMSD`. However, `reference` cannot be
        an array of positions.
    select : str, tuple, dict or None
        The molecule, such as a ligand without its hydrogens. See `mdreel.RMSD`. You need a topology that contains its
        bonds.
    superposition : bool
        Whether to superpose frames on the reference first. For the pose of a ligand, you should superpose the protein
        using ``run(transformations=[mdreel.transformations.fit_rot_trans(...)])`` and set this to False.

    Attributes
    ----------
    results.rmsd : ndarray, shape (n_frames,), float64
        RMSD in Å.
    orders : ndarray, shape (n_orders, n_atoms), int64
        Equivalent orders of the atoms. Each row contains indices into the selected atoms, which are in the order of the
        topology.

    Raises
    ------
    SelectionError
        When there are no atoms, your selection is invalid, or your topology does not contain bonds of atoms that could
        be equivalent.
    UnsupportedError
        When the group is an UpdatingAtomGroup.
    MismatchError
        When your atoms do not correspond to the reference, or more than 10,000 equivalent orders have been found.

    Warns
    -----
    AtomOrderWarning
        When your atoms have the same masses as the reference atoms, but different names.

    Notes
    -----
    The RMSD is ``min_p sqrt(sum_i |R x_i + t - y_p(i)|^2 / n)``, where p is any automorphism of the molecular graph.
    The nodes of this graph are the atoms with their elements, and its edges are the bonds (without bond orders). The
    rotation R and the translation t are chosen to minimise the RMSD for each p, or left out if you do not use
    superposition. This is the symmetry-corrected RMSD of spyrmsd [1]_. As in spyrmsd, chirality is not considered. The
    results are bitwise identical for every executor and number of workers.

    You will need 24 bytes of memory per frame. In addition, each process needs 56 bytes per atom and order for the
    reference.

    References
    ----------
    .. [1] R. Meli, P. C. Biggin, "spyrmsd: symmetry-corrected RMSD calculations in Python", J. Cheminform. 12 (2020)
       49.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from mdreel.analysis import SymmetricRMSD
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> ring = SymmetricRMSD(mda.Universe(PSF, DCD), select="resname PHE and resid 19 and not name H*").run()
    >>> ring.orders.shape
    (2, 11)
    >>> ring.results.rmsd.shape
    (98,)
    """

    _units = MappingProxyType({"rmsd": "Å"})
    _result_dimensions = MappingProxyType({"rmsd": ("frame",)})

    @checked_arguments_but("select")
    def __init__(
        self,
        atomgroup: Atoms,
        reference: Atoms | None = None,
        select: SelectBoth = "all",
        ref_frame: int | None = 0,
        superposition: bool = True,
        *,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(atomgroup, reference, select, ref_frame, tol_mass, match_atoms, trajectory, verbose)
        self._superposition = bool(superposition)
        atoms = self.atomgroup.universe.atoms[self.atoms]
        elements = elements_of(atoms).tolist()
        self.orders = equivalent_orders(elements, self._bonds(elements), _MOST_ORDERS)

    def _bonds(self, elements: list[str]) -> NDArray[np.int64]:
        """Return the bonds between the selected atoms, as indices into them."""
        bonds = getattr(self.atomgroup.universe, "bonds", None)
        if bonds is None or not len(bonds):
            from mdreel.analysis.topology.missing_data import MissingDataError

            message = "the topology has no bonds, which show which atoms are equivalent"
            raise MissingDataError(f"{message}: use one with bonds (TPR, PSF, PRMTOP), or guess them")
        indices = np.asarray(bonds.indices, np.int64)
        inside = indices[np.isin(indices, self.atoms).all(axis=1)]
        self._check_bonded(inside, elements)
        return np.searchsorted(self.atoms, inside).astype(np.int64)

    def _check_bonded(self, bonds: NDArray[np.int64], elements: list[str]) -> None:
        """Check that bonds tell atoms of the same element apart, except for ions."""
        universe = self.atomgroup.universe
        residues = universe.atoms.resindices
        is_ion = np.bincount(residues)[residues[self.atoms]] == 1
        single = np.flatnonzero(~np.isin(self.atoms, bonds) & ~is_ion)
        of_single = [elements[place] for place in single.tolist()]
        alike = [place for place, element in zip(single, of_single, strict=True) if of_single.count(element) > 1]
        if not alike:
            return
        from mdreel.analysis.topology.missing_data import MissingDataError

        atom = described_atom(universe.atoms[self.atoms[alike[0]]])
        message = f"{len(alike):,} selected atoms have no bonds to other selected atoms, such as {atom}"
        remedy = "select whole molecules, and use a topology with their bonds (TPR, PSF, PRMTOP)"
        raise MissingDataError(f"{message}, so it is not known which ones are equivalent: {remedy}")

    def computation(self, source: Source) -> Computation:
        """Read the reference and return the computation that finds the smallest RMSD over all orders."""
        references = self._reference_positions(source)[self.orders]
        return symmetric_rmsd(np.ascontiguousarray(references), self._superposition)

    def conclude(self, tally: Tally) -> None:
        """Store the RMSDs."""
        self.results.rmsd = np.ascontiguousarray(tally.values[:, 0])

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time and the RMSD."""
        return wide_columns(self.frames, self.times, self.results.rmsd[:, None], ["rmsd"], "Å")

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the RMSD over time."""
        from mdreel.results.figure import time_series

        return time_series(self.times, self.results.rmsd, "RMSD (Å)", title, ax, frames=self.frames)
