"""Density profiles of mass and charge along the axes."""

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
"""Factor from u/Å^3 to g/cm^3 and from 1/Å^3 to mol/cm^3, from the Avogadro constant of the SI."""


class LinearDensity(Analysis):
    """Density profiles of mass and charge along x, y and z, and their standard deviations over frames.

    Parameters
    ----------
    select : MDAnalysis.AtomGroup
        The atoms; each counts once.
    grouping : {"atoms", "residues", "segments", "fragments"}
        Whether mass and charge are placed at each atom, or at the centre of mass of the selected atoms of each residue,
        segment or fragment.
    binsize : float
        Approximate width of a bin, Å.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made from a topology alone is then enough.

    Attributes
    ----------
    results.x.mass_density, results.x.mass_density_stddev : ndarray, shape (n_bins,), float64
        Mean over frames and population standard deviation of the mass density, g/cm^3.
    results.x.charge_density, results.x.charge_density_stddev : ndarray, shape (n_bins,), float64
        Mean and standard deviation of the charge density, e mol/cm^3. Absent if the topology has no charges.
    results.x.hist_bin_edges : ndarray, shape (n_bins + 1,), float64
        Edges of the bins, Å. They are the same for all axes and cover the longest.
    results.x.slice_volume : float
        Volume of a bin, Å^3.
    results.x.dim : int
        Number of the axis: 0 here, 1 in ``results.y`` and 2 in ``results.z``.

    Raises
    ------
    SelectionError
        If there are no atoms, the topology has no masses, or it lacks the bonds that define fragments.
    MismatchError
        If `grouping` is unknown, the first frame of the trajectory has no cell, or bins are wider than the cell.

    Notes
    -----
    Results agree with `MDAnalysis.analysis.lineardensity.LinearDensity`, in float64. Each frame needs a periodic cell,
    into which atoms or centres of mass are wrapped. Bins and volumes are those of the first frame of the trajectory. If
    the cell grows, atoms beyond the last edge are not counted. Broken compounds must be made whole first
    (``run(transformations=[unwrap(...)])``).

    In a triclinic cell, atoms are wrapped into the rectangular box of the cell's diagonal, whose images also fill
    space. No atom is left out, and volumes are correct. MDAnalysis instead uses the product of the cell lengths as the
    volume, and leaves out atoms that lie beyond a length or below 0.

    Sums over frames are exact, so results are bitwise identical for every executor and any number of workers and
    blocks. Memory does not grow with the number of frames, except for 16 bytes for number and time of each frame.

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
        """What the analysis requires of molecules that the cell boundary may cut."""
        return Boundaries(
            "atoms are moved into the cell, each on its own; compounds with their centre of mass",
            whole=self._labels is not None,
        )

    def computation(self, source: Source) -> Computation:
        """Return the computation that sums the densities, after laying the bins in the first cell."""
        lengths = self._lengths(source)
        n_bins = (lengths // np.float32(self._binsize)).astype(int)
        if n_bins.min() < 1:
            raise MismatchError(f"bins of {self._binsize:g} Å do not fit into a cell of {lengths.tolist()} Å")
        edges = np.linspace(0.0, float(lengths.max()), n_bins.max() + 1)
        per_slice = _PER_AVOGADRO * n_bins / np.prod(lengths, dtype=np.float64)
        return linear_density(self._masses, self._charges, self._labels, edges, per_slice.tolist())

    def conclude(self, tally: Tally) -> None:
        """Compute means and standard deviations from the sums."""
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
        """Draw the mass density along z, with its standard deviation as a band."""
        from mdreel.results.curves import curve

        along = self.results.z
        # The bins cover the longest axis, so the last ones along z may be empty.
        n_bins = int(np.flatnonzero(along.mass_density).max(initial=0)) + 1
        middles = (along.hist_bin_edges[1:] + along.hist_bin_edges[:-1]) / 2
        mean, deviation = along.mass_density[:n_bins], along.mass_density_stddev[:n_bins]
        return curve(middles[:n_bins], mean, "z (Å)", "Mass density (g/cm³)", title, ax, spread=deviation)

    def _lengths(self, source: Source) -> NDArray[np.float32]:
        """Return the lengths of the rectangular box of the first cell's diagonal, Å."""
        from MDAnalysis.lib.mdamath import triclinic_vectors

        first = source.read(FrameSet.range(0, 1, 1), self.atoms[:1])
        lengths = np.diagonal(triclinic_vectors(first.dimensions[0])) if first.has_cell[0] else np.zeros(3)
        if not (lengths > 0).all():
            raise MismatchError("no periodic cell, which the analysis needs for its bins", frame=0)
        return lengths.astype(np.float32)


def _labels(atoms: "AtomGroup", grouping: Grouping) -> NDArray[np.uint32]:
    """Return the number of the residue, segment or fragment of each atom, from 0, shape (n_atoms,)."""
    try:
        numbers = getattr(atoms, _NUMBERS[grouping])
    except AttributeError as error:
        raise SelectionError(f"the topology has no {grouping}: {error}") from error
    return np.unique(numbers, return_inverse=True)[1].astype(np.uint32)
