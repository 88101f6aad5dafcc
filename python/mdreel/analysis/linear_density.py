"""Mass and charge density profiles along the axes."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, FrameSet, Source, linear_density
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.choices import Grouping
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.weights import weights_of
from mdreel.errors import MismatchError, SelectionError
from mdreel.execution.tally import Tally
from mdreel.results.results import Results
from mdreel.trajectory.opener import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup

_NUMBERS = {"residues": "resindices", "segments": "segindices", "fragments": "fragindices"}
_PER_AVOGADRO = 1 / 0.602214076
"""g/cm^3 in 1 u/Å^3, and mol/cm^3 in 1/Å^3: the Avogadro constant of the SI, times 1e-24."""


class LinearDensity(Analysis):
    """Profiles of the density of mass and charge along x, y and z, and how far they deviate from frame to frame.

    Parameters
    ----------
    select : MDAnalysis.AtomGroup
        The atoms, each of which counts once.
    grouping : {"atoms", "residues", "segments", "fragments"}
        Whether mass and charge are where each atom is, or where the centre of mass is of those atoms of the group that
        are of one residue, segment or fragment.
    binsize : float
        About how wide a bin is, Å.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.x.mass_density, results.x.mass_density_stddev : ndarray, shape (n_bins,), float64
        Mean over frames, and standard deviation (of all frames, not of a sample), g/cm^3.
    results.x.charge_density, results.x.charge_density_stddev : ndarray, shape (n_bins,), float64
        The same of charge, e mol/cm^3. They are not there where the topology has no charges.
    results.x.hist_bin_edges : ndarray, shape (n_bins + 1,), float64
        Edges of the bins, Å: the same along all axes, up to the longest.
    results.x.slice_volume : float
        The volume by which what is in a bin is divided, Å^3.
    results.x.dim : int
        Which axis this is: 0, and 1 and 2 in ``results.y`` and ``results.z``.

    Raises
    ------
    SelectionError
        If there are no atoms, the topology has no masses, or no bonds to find fragments by.
    MismatchError
        If `grouping` is unknown, the first frame of the trajectory has no cell, or bins are wider than that.

    Notes
    -----
    What `MDAnalysis.analysis.lineardensity.LinearDensity` gives, in float64. Each frame needs to have a periodic cell,
    into which atoms, or centres of mass, are moved as images. Bins and volumes are those of the first frame of the
    trajectory: what lies beyond the last edge, in a cell that has grown, is not counted. Compounds are taken as they
    are: make them whole before (``run(transformations=[unwrap(...)])``), if the engine broke them.

    In a triclinic cell, whose faces are not across the axes, atoms are moved into the brick of its diagonal instead,
    images of which fill space as well: no atom is left out, and volumes are right. MDAnalysis takes the product of the
    lengths of the cell for its volume there, and leaves out atoms that lie beyond a length or below 0.

    Sums over frames are exact: results have the same bits whichever the executor, with however many workers and blocks.
    Memory does not grow with the number of frames, beyond 16 bytes for number and time of each.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> water = mda.Universe(TPR, XTC).select_atoms("resname SOL")
    >>> profiles = LinearDensity(water, binsize=1.0).run().results
    >>> float(profiles.z.mass_density[:50].mean().round(1))
    0.9
    """

    def __init__(
        self,
        select: "AtomGroup",
        grouping: Grouping = "atoms",
        binsize: float = 0.25,
        *,
        trajectory: Trajectory | None = None,
    ) -> None:
        super().__init__(select, trajectory)
        if grouping != "atoms" and grouping not in _NUMBERS:
            raise MismatchError(f"grouping must be 'atoms', {', '.join(map(repr, _NUMBERS))}, not {grouping!r}")
        if not (np.isfinite(binsize) and binsize > 0):
            raise MismatchError(f"binsize must be more than 0 Å, not {binsize}")
        self._binsize = binsize
        each = select.universe.atoms[self.atoms]
        masses = weights_of(each, "mass")
        assert masses is not None, "there are masses, or an error"
        self._masses = masses
        charges = getattr(each, "charges", None)
        self._has_charges = charges is not None
        self._charges = np.zeros(len(each)) if charges is None else np.asarray(charges, np.float64)
        self._labels = None if grouping == "atoms" else _labels(each, grouping)

    @property
    def boundaries(self) -> Boundaries:
        """What it requires of molecules that the boundary of the cell may cut."""
        return Boundaries(
            "atoms are moved into the cell, each on its own; compounds with their centre of mass",
            whole=self._labels is not None,
        )

    def computation(self, source: Source) -> Computation:
        """Return what adds up the densities of a frame; bins are laid along the axes now."""
        lengths = self._lengths(source)
        n_bins = (lengths // np.float32(self._binsize)).astype(int)
        if n_bins.min() < 1:
            raise MismatchError(f"there are no bins of {self._binsize:g} Å along {lengths.tolist()} Å")
        edges = np.linspace(0.0, float(lengths.max()), n_bins.max() + 1)
        per_slice = _PER_AVOGADRO * n_bins / np.prod(lengths, dtype=np.float64)
        return linear_density(self._masses, self._charges, self._labels, edges, per_slice.tolist())

    def conclude(self, tally: Tally) -> None:
        """Make means and deviations of the sums."""
        *_, edges, per_slice = tally.arguments
        means = (tally.sums / tally.n_frames).reshape(3, len(edges) - 1, 2, 2)
        for dim, axis in enumerate("xyz"):
            found = Results(dim=dim, slice_volume=_PER_AVOGADRO / per_slice[dim], hist_bin_edges=edges)
            for name, (mean, square) in zip(("mass", "charge"), means[dim].transpose(1, 2, 0), strict=True):
                if name == "mass" or self._has_charges:
                    found[f"{name}_density"] = mean
                    found[f"{name}_density_stddev"] = np.sqrt(np.maximum(square - mean**2, 0.0))
            self.results[axis] = found

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the density of mass along z, with its deviation as a band."""
        from mdreel.results.curve import curve

        along = self.results.z
        # The cell may be shorter here than along the other axes.
        n_bins = int(np.flatnonzero(along.mass_density).max(initial=0)) + 1
        middles = (along.hist_bin_edges[1:] + along.hist_bin_edges[:-1]) / 2
        mean, deviation = along.mass_density[:n_bins], along.mass_density_stddev[:n_bins]
        return curve(middles[:n_bins], mean, "z (Å)", "Mass density (g/cm³)", title, ax, spread=deviation)

    def _lengths(self, source: Source) -> NDArray[np.float32]:
        """Return how long the brick of the diagonal of the first cell is along the axes, Å."""
        from MDAnalysis.lib.mdamath import triclinic_vectors

        first = source.read(FrameSet.range(0, 1, 1), self.atoms[:1])
        lengths = np.diagonal(triclinic_vectors(first.dimensions[0])) if first.has_cell[0] else np.zeros(3)
        if not (lengths > 0).all():
            raise MismatchError("frame 0 has no periodic cell: there are no slabs across it")
        return lengths.astype(np.float32)


def _labels(atoms: "AtomGroup", grouping: Grouping) -> NDArray[np.uint32]:
    """Number residues, segments or fragments from 0, shape (n_atoms,)."""
    try:
        numbers = getattr(atoms, _NUMBERS[grouping])
    except AttributeError as error:
        raise SelectionError(f"the topology has no {grouping}: {error}") from error
    return np.unique(numbers, return_inverse=True)[1].astype(np.uint32)
