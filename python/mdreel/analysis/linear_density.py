"""Density profiles of mass and charge along the axes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, changing_linear_density, linear_density
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.choices import Grouping
from mdreel.analysis.current_frame import current_frame, read_one_frame
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.weights import weights_of
from mdreel.errors import MdreelWarning, MismatchError, SelectionError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.size_check import check_size
from mdreel.foundation.stack_level import caller_level
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray, column_arrays
from mdreel.results.results import Results
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup

_NUMBERS = {"residues": "resindices", "segments": "segindices", "fragments": "fragindices"}
_BIN_BYTES = 8 * (1 + 3 * 4)
"""Memory in bytes for the edge of a bin and for four sums along each axis."""

_PER_AVOGADRO = 1 / 0.602214076
"""Conversion factor from u/Å^3 to g/cm^3 and from 1/Å^3 to mol/cm^3, based on the Avogadro constant of the SI."""


_UNITS = {"mass": "g/cm^3", "charge": "e mol/cm^3"}
"""Units of the densities."""


class GroupingError(MismatchError, AttributeError):
    """Error raised for an unknown grouping in `LinearDensity`, for which MDAnalysis raises an AttributeError."""


class AxisResults(Results):
    """The density profiles along one axis, also available under the names that are deprecated in MDAnalysis."""

    _deprecated: ClassVar = {
        "pos": "mass_density",
        "pos_std": "mass_density_stddev",
        "char": "charge_density",
        "char_std": "charge_density_stddev",
    }

    def __missing__(self, name: str) -> Any:
        if name not in self._deprecated:
            raise KeyError(name)
        message = f"the result {name!r} is deprecated: use {self._deprecated[name]!r}"
        warnings.warn(message, DeprecationWarning, stacklevel=caller_level())
        return self[self._deprecated[name]]


class LinearDensity(Analysis):
    """Compute profiles of the mass and charge density along x, y and z, and their standard deviations over frames.

    Parameters
    ----------
    select : MDAnalysis.AtomGroup, UpdatingAtomGroup or Universe
        The atoms. No atom can occur twice. If you use an UpdatingAtomGroup, each frame contributes the atoms
        that are selected in this frame.
    grouping : {"atoms", "residues", "segments", "fragments"}
        Whether to place mass and charge at the atoms, or at the centre of mass of the selected atoms of a residue,
        segment or fragment.
    binsize : float
        Approximate width of a bin in Å.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.x.mass_density, results.x.mass_density_stddev : ndarray, shape (n_bins,), float64
        Mean and population standard deviation of the mass density over all frames, in g/cm^3.
    results.x.charge_density, results.x.charge_density_stddev : ndarray, shape (n_bins,), float64
        Mean and standard deviation of the charge density in e mol/cm^3. These are not available if the topology has no
        charges.
    results.x.hist_bin_edges : ndarray, shape (n_bins + 1,), float64
        Edges of the bins in Å, which are the same for all axes and cover the longest axis.
    results.x.slice_volume : float
        Volume of a bin in Å^3.
    results.x.dim : int
        Number of the axis: 0 for ``results.x``, 1 for ``results.y`` and 2 for ``results.z``.
    masses, charges : ndarray, shape (n_compounds,), float64
        Masses (amu) and charges (e) of the atoms, or of the residues, segments or fragments. For an UpdatingAtomGroup,
        these are the values in the current frame of the Universe.
    grouping, binsize
        The given parameters.
    nbins : int
        Number of bins, after a run.

    Raises
    ------
    SelectionError
        When your group is empty or contains an atom more than once, or your topology lacks masses or the bonds that
        define fragments.
    MismatchError
        When `grouping` is unknown (this error is also an AttributeError). When the frame that defines the bins or a
        frame of the run has no cell. When bins are wider than the cell, or the selected atoms of a residue, segment or
        fragment have no mass.

    Warns
    -----
    MdreelWarning
        When the cell is triclinic, because the results will then differ from those in MDAnalysis. When all densities
        are 0 because no atom of an UpdatingAtomGroup is ever selected.

    Notes
    -----
    Results agree with those of `MDAnalysis.analysis.lineardensity.LinearDensity`, but are computed in float64. Every
    frame needs a periodic cell, into which the atoms or centres of mass are wrapped. Bins and volumes are determined
    from the cell in the current frame of the Universe when you create the analysis. If you pass a `trajectory`, they
    are determined from its first frame instead. Note that the cell should not grow later on, because atoms beyond the
    last edge are not counted. If your compounds are broken, you should make them whole first
    (``run(transformations=[unwrap(...)])``).

    In a triclinic cell, atoms are wrapped into the rectangular box spanned by the diagonal of the cell matrix, whose
    images also fill space. In this way, all atoms are counted, and the volumes are correct. In contrast, MDAnalysis
    uses the product of the cell lengths as the volume, and ignores atoms outside the range from 0 to each length.

    As sums over frames are exact, results are bitwise identical for every executor and any number of workers and
    blocks. Apart from 16 bytes per frame, the memory use does not depend on the number of frames.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> water = mda.Universe(TPR, XTC).select_atoms("resname SOL")
    >>> profiles = mdreel.LinearDensity(water, binsize=1.0).run().results
    >>> float(profiles.z.mass_density[:50].mean().round(1))
    0.9
    """

    _may_change = True
    _atoms_parameter = "select"

    @checked_arguments
    def __init__(
        self,
        select: Atoms,
        grouping: Grouping = "atoms",
        binsize: float = 0.25,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(select, trajectory, verbose=verbose)
        if self._selection.has_repetitions:
            raise SelectionError("select has an atom more than once, which would count several times: use .unique")
        if grouping != "atoms" and grouping not in _NUMBERS:
            raise GroupingError(f"grouping must be 'atoms', {', '.join(map(repr, _NUMBERS))}, not {grouping!r}")
        if not (np.isfinite(binsize) and binsize > 0):
            raise MismatchError(f"binsize must be more than 0 Å, not {binsize}")
        self.grouping, self.binsize = grouping, binsize
        self._frame = current_frame(self._atomgroup)
        is_changing = self._selection.changing is not None
        each = self._atomgroup.universe.atoms[self._selection.given if is_changing else self.atoms]
        masses = weights_of(each, "mass")
        assert masses is not None, "there are masses, or an error"
        self._masses = masses
        charges = getattr(each, "charges", None)
        self._has_charges = charges is not None
        self._charges = np.zeros(len(each)) if charges is None else np.asarray(charges, np.float64)
        self._labels = None if grouping == "atoms" else _labels(each, grouping)

    @property
    def masses(self) -> NDArray[np.float64]:
        """Masses of the atoms or compounds, shape (n_compounds,), float64, in amu."""
        return self._of_compounds(self._masses)

    @property
    def charges(self) -> NDArray[np.float64]:
        """Charges of the atoms or compounds, shape (n_compounds,), float64, in e."""
        if not self._has_charges:
            raise AttributeError("the topology has no charges")
        return self._of_compounds(self._charges)

    @property
    def nbins(self) -> int:
        """Number of bins in the last run."""
        self._done()
        return len(self.results.x.hist_bin_edges) - 1

    def _of_compounds(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of the atoms in the order of the group, or the sum of the values for each compound."""
        labels: NDArray[np.integer] | None = self._labels
        if self._selection.changing is not None:
            is_current = np.isin(self._selection.given, self._atomgroup.ix)
            if labels is None:
                return values[is_current]
            values, labels = values[is_current], np.unique(labels[is_current], return_inverse=True)[1]
        if labels is None:
            return values[self._selection.places]
        return np.bincount(labels, weights=values).astype(np.float64)

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries(
            "atoms are moved into the cell one by one, and compounds with their centre of mass",
            whole=self._labels is not None,
        )

    def computation(self, source: Source) -> Computation:
        """Define the bins from the cell in one frame and return the computation that sums the densities."""
        lengths = self._lengths(source)
        n_bins = (lengths // np.float32(self.binsize)).astype(int)
        if n_bins.min() < 1:
            found = f"bins of {self.binsize:g} Å do not fit into a cell of {lengths.tolist()} Å"
            raise MismatchError(f"{found}: give a smaller binsize")
        check_size(f"{n_bins.max():,} bins", _BIN_BYTES * float(n_bins.max()), "give a larger binsize")
        edges = np.linspace(0.0, float(lengths.max()), n_bins.max() + 1)
        per_slice = _PER_AVOGADRO * n_bins / np.prod(lengths, dtype=np.float64)
        given = self._masses, self._charges, self._labels, edges, per_slice.tolist()
        if self._selection.changing is not None:
            return changing_linear_density(len(self.atoms), self._selection.members(), *given)
        return linear_density(*given)

    def conclude(self, tally: Tally) -> None:
        """Compute means and standard deviations from the sums."""
        *_, edges, per_slice = tally.arguments
        means = (tally.sums / tally.n_frames).reshape(3, len(edges) - 1, 2, 2)
        for dim, axis in enumerate("xyz"):
            found = AxisResults(dim=dim, slice_volume=_PER_AVOGADRO / per_slice[dim], hist_bin_edges=edges)
            for name, (mean, square) in zip(("mass", "charge"), means[dim].transpose(1, 2, 0), strict=True):
                if name == "mass" or self._has_charges:
                    found[f"{name}_density"] = mean
                    found[f"{name}_density_stddev"] = np.sqrt(np.maximum(square - mean**2, 0.0))
            self.results[axis] = found
        if self._selection.changing is not None and not tally.sums.any():
            message = "no bin has mass or charge in any frame: check the selection, whose distances are in Å"
            warnings.warn(message, MdreelWarning, stacklevel=caller_level())

    def columns(self) -> Sequence[Column]:
        """Return columns with bin centres, and with densities along each axis and their standard deviations."""
        edges = self.results.x.hist_bin_edges
        columns = [Column("position", "Å", (edges[1:] + edges[:-1]) / 2)]
        for axis in "xyz":
            for name, unit in _UNITS.items():
                found = self.results[axis]
                if f"{name}_density" in found:
                    columns.append(Column(f"{name}_density_{axis}", unit, found[f"{name}_density"]))
                    columns.append(Column(f"{name}_density_{axis}_stddev", unit, found[f"{name}_density_stddev"]))
        return columns

    def _result_arrays(self) -> list[LabelledArray]:
        edges = LabelledArray("edges", ("edge",), "Å", self.results.x.hist_bin_edges)
        return [*column_arrays(self.columns()[1:], "position"), edges]

    def _result_coordinates(self) -> list[LabelledArray]:
        return [*super()._result_coordinates(), *column_arrays(self.columns()[:1], "position")]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the mass density along z, with its standard deviation as a band."""
        from mdreel.results.curves import curve

        along = self.results.z
        # The bins cover the longest axis, so the last ones along z may be empty.
        n_bins = int(np.flatnonzero(along.mass_density).max(initial=0)) + 1
        middles = (along.hist_bin_edges[1:] + along.hist_bin_edges[:-1]) / 2
        mean, deviation = along.mass_density[:n_bins], along.mass_density_stddev[:n_bins]
        return curve(middles[:n_bins], mean, "z (Å)", "Mass density (g/cm³)", title, ax, spread=deviation)

    def _lengths(self, source: Source) -> NDArray[np.float32]:
        """Return the lengths of the rectangular box spanned by the diagonal of the cell matrix, in Å."""
        from MDAnalysis.lib.mdamath import triclinic_vectors

        frame = self._frame if self._given_trajectory is None else 0
        read = read_one_frame(source, frame, self.atoms[:1])
        dimensions = read.dimensions[0]
        lengths = np.diagonal(triclinic_vectors(dimensions)) if read.has_cell[0] else np.zeros(3)
        if not (lengths > 0).all():
            raise MismatchError("no periodic cell, which the analysis needs for its bins", frame=frame)
        if (dimensions[3:] != 90).any():
            message = (
                "the cell is triclinic: the volume of a bin is that of the cell by the number of bins, and every atom "
                "counts, unlike in MDAnalysis, which multiplies the lengths and leaves atoms out"
            )
            warnings.warn(message, MdreelWarning, stacklevel=caller_level())
        return lengths.astype(np.float32)


def _labels(atoms: AtomGroup, grouping: Grouping) -> NDArray[np.uint32]:
    """Return the number of the residue, segment or fragment of each atom, starting from 0, shape (n_atoms,)."""
    try:
        numbers = getattr(atoms, _NUMBERS[grouping])
    except AttributeError as error:
        raise SelectionError(f"the topology has no {grouping}: {error}") from error
    return np.unique(numbers, return_inverse=True)[1].astype(np.uint32)
