"""Solvent accessible surface area."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, surface_area
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.choices import AreaMode
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.radii import radii_of
from mdreel.analysis.topology.residue_labels import ResidueLabels
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.unit_check import check_radius
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class SASA(Analysis):
    """Solvent accessible surface area of each atom, or each residue, over time.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms whose area is wanted.
    probe_radius : float
        Radius of the probe, Å; 1.4 is that of water.
    n_sphere_points : int
        Points on the sphere around each atom. More of them are more accurate, and take longer.
    mode : {"atom", "residue", "total"}
        Whether the area of each atom is kept, of each residue (of those of its atoms that are in the group), or only
        that of all together, which there is in any case.
    radii : mapping of str to float, or array_like, shape (n_surface,), float64, optional
        Van der Waals radii, Å: of elements, instead of those of the table, or of each atom of `surface`.
    surface : MDAnalysis.AtomGroup, optional
        The atoms that make the surface, and cover one another: `atomgroup` and what else is there, as the protein in
        which a ligand is bound. By default `atomgroup` alone.
    average : bool
        Whether of each atom or residue only mean and variance are kept: memory does not grow with the number of frames
        then.
    pbc : bool
        Whether images of atoms in the periodic cell cover as well; every frame needs to have a cell then.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.total_area : ndarray, shape (n_frames,), float64
        Area of all atoms of the group, each once, Å^2.
    results.sasa : ndarray, shape (n_frames, n_atoms) or (n_frames, n_residues), float64
        Area of each atom in the order of the group, or of each residue in that of ``atomgroup.residues``, Å^2; 8 bytes
        for each and frame. Neither with ``mode="total"`` nor with `average`.
    results.residue_area : ndarray, shape (n_frames, n_residues), float64
        Of residues, the same array.
    residue_labels : list of str
        A label of each residue, such as ``"ALA 5"``, or ``"A ALA 5"`` where there are several segments.
    results.mean : ndarray, shape (n_atoms,) or (n_residues,), float64
        With `average`: the mean, Å^2.
    results.variance : ndarray, shape (n_atoms,) or (n_residues,), float64
        With `average`: the variance (of all frames, not of a sample), Å^4.

    Raises
    ------
    SelectionError
        If a group has no atoms, or the topology has neither elements nor names of atoms.
    MismatchError
        If an element has no radius, radii or numbers mean nothing, or an atom is not in `surface`.
    UnsupportedError
        If a group is an UpdatingAtomGroup.

    Notes
    -----
    The share of points on a sphere of van der Waals radius and probe that are inside no such sphere of another atom,
    times the area of the sphere [1]_. Points are those of the golden spiral, which `mdtraj.shrake_rupley` has too:
    areas differ by the few points that single precision puts on the other side of an edge. Radii are those of
    Bondi [2]_ and Mantina et al. [3]_, by the elements of the topology, or those that MDAnalysis guesses from names.
    Ions have the radii of atoms there; mdtraj takes those of ions: ``radii={"Na": 1.02, "Cl": 1.81}``.

    Neighbours are found by cells, in a time that grows linearly with the number of atoms. Sums over frames are exact:
    results have the same bits whichever the executor, with however many workers and blocks. Memory: that of the
    results, and once more of those that are brought into the order of the group; 24 bytes a frame with `average`.

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
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> protein = mda.Universe(PSF, DCD).select_atoms("protein")
    >>> areas = SASA(protein, mode="residue").run(step=10)
    >>> areas.results.sasa.shape, areas.results.total_area.shape
    ((10, 214), (10,))
    """

    def __init__(
        self,
        atomgroup: "AtomGroup",
        probe_radius: float = 1.4,
        n_sphere_points: int = 960,
        mode: AreaMode = "atom",
        radii: Mapping[str, float] | ArrayLike | None = None,
        *,
        surface: "AtomGroup | None" = None,
        average: bool = False,
        pbc: bool = False,
        trajectory: Trajectory | None = None,
    ) -> None:
        super().__init__(atomgroup, trajectory)
        if mode not in ("atom", "residue", "total"):
            raise MismatchError(f"mode must be 'atom', 'residue' or 'total', not {mode!r}")
        if average and mode == "total":
            raise MismatchError("there is no average of mode 'total', which keeps one number for each frame")
        if n_sphere_points < 1:
            raise MismatchError(f"n_sphere_points must be 1 or more, not {n_sphere_points}")
        self._probe_radius = check_radius("probe_radius", probe_radius, doubtful=0.5)
        self._n_sphere_points = int(n_sphere_points)
        self._mode, self._average, self._pbc = mode, average, pbc
        covering = atomgroup if surface is None else surface
        self._surface = Selection.of(covering, "surface")
        if covering.universe is not atomgroup.universe:
            raise MismatchError("surface is of another Universe than atomgroup")
        is_there = np.isin(self._selection.atoms, self._surface.atoms)
        if not is_there.all():
            raise MismatchError(f"{(~is_there).sum():,} atoms of atomgroup are not in surface: it is all that covers")
        self._radii = self._gathered(radii_of(covering, radii))
        self._measured, self._places = self._areas()

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """The atoms that are read: those of the surface."""
        return self._surface.atoms

    @property
    def mode(self) -> AreaMode:
        """Of what there is an area."""
        return self._mode

    @property
    def labels(self) -> ResidueLabels:
        """What tells residues apart, one entry for each area: the residues, or those of the atoms."""
        return ResidueLabels.of(self.atomgroup.residues if self._mode == "residue" else self.atomgroup)

    @property
    def residue_labels(self) -> list[str]:
        """A label of each residue of the group, in the order of ``atomgroup.residues``."""
        return ResidueLabels.of(self.atomgroup.residues).texts

    @property
    def boundaries(self) -> Boundaries:
        """What it requires of molecules that the boundary of the cell may cut."""
        return Boundaries(
            "atoms are covered by others as they lie, or with pbc=True by periodic images", whole=not self._pbc
        )

    def computation(self, source: Source) -> Computation:
        """Return what measures the areas of a frame."""
        keep = "statistics" if self._average else "total" if self._mode == "total" else "all"
        return surface_area(self._radii, self._probe_radius, self._n_sphere_points, self._measured, self._pbc, keep)

    def conclude(self, tally: Tally) -> None:
        """Bring areas, or their sums, into the order of the group."""
        total, areas = tally.values[:, 0], tally.values[:, 1:]
        self.results.total_area = total.copy()
        if self._average:
            mean, square = tally.sums.reshape(-1, 2).T / tally.n_frames
            self.results.mean = mean[self._places]
            self.results.variance = np.maximum(square - mean**2, 0.0)[self._places]
        elif self._mode != "total":
            is_in_order = np.array_equal(self._places, np.arange(areas.shape[1]))
            self.results.sasa = areas if is_in_order else areas[:, self._places]
        if self._mode == "residue" and not self._average:
            self.results.residue_area = self.results.sasa

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the total area over time; of residues, or averages, the mean along the residues."""
        from mdreel.results.figure import time_series
        from mdreel.results.profile import profile

        if self._mode == "residue" or self._average:
            mean = self.results.mean if self._average else self.results.sasa.mean(axis=0)
            labels = self.labels
            return profile(labels.positions, mean, labels.axis, "SASA (Å²)", title, ax)
        total = self.results.total_area
        return time_series(self.times, total, "SASA (Å²)", title, ax, frames=self.frames, from_zero=False)

    def _gathered(self, radii: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring radii from the order of the surface into that of the atoms that are read."""
        places = self._surface.places
        gathered = np.empty(len(self._surface.atoms))
        gathered[places] = radii
        if not np.array_equal(gathered[places], radii):
            raise MismatchError("radii gives an atom that is in the surface more than once different radii")
        return gathered

    def _areas(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return atom and area of what is measured, shape (n_measured, 2), and the area of each atom or residue."""
        atoms = self._selection.atoms
        areas, places = np.arange(len(atoms)), self._selection.places
        if self._mode == "residue":
            residues, areas = np.unique(self.atomgroup.universe.atoms.resindices[atoms], return_inverse=True)
            places = np.arange(len(residues))
        return np.stack([np.searchsorted(self.atoms, atoms), areas], axis=1).astype(np.uint32), places
