"""End-to-end vectors and distances of chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, end_to_end
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.base.frame_columns import wide_columns
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.group_names import column_names, group_label, split_group_names
from mdreel.analysis.topology.reference import are_atoms
from mdreel.errors import MismatchError, SelectionError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Selection, atoms_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup

_N_VALUES = 4  # x, y, z and length


class EndToEnd(Analysis):
    """Compute the vector from the first to the last atom of each chain, and its length, over a trajectory.

    Parameters
    ----------
    chains : MDAnalysis.AtomGroup, sequence of MDAnalysis.AtomGroup, or mapping of str to MDAnalysis.AtomGroup
        One or more chains. The atoms should be in order along the chain, as for MDAnalysis's `PersistenceLength`, but
        only those at its ends will be read. If you pass a mapping, its keys are used as the names of the chains in
        tables and in `plot`, which can then draw the chains instead of the mean.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.

    Attributes
    ----------
    results.vectors : ndarray, shape (n_frames, n_chains, 3), float64
        Vectors from the first to the last atom in Å.
    results.distances : ndarray, shape (n_frames, n_chains), float64
        Lengths of the vectors in Å.

    Raises
    ------
    SelectionError
        If you did not pass any chains, or one of your chains is empty.
    MismatchError
        If the chains are in different Universes.

    Notes
    -----
    Vectors ``R = x_last - x_first`` are float64. Chains need to be whole. To make broken chains whole, use
    ``run(transformations=[mdreel.transformations.unwrap(...)])``. To compute the orientational autocorrelation of R,
    use ``autocorrelation(vectors, legendre=1)``.

    You will need 32 bytes of memory per chain and frame (twice as much while the results are assembled). The frame
    number and the time take another 16 bytes per frame.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> alpha = mda.Universe(PSF, DCD).select_atoms("name CA")
    >>> mdreel.EndToEnd(alpha).run().results.distances.shape
    (98, 1)
    """

    _units = MappingProxyType({"vectors": "Å", "distances": "Å"})
    _result_dimensions = MappingProxyType({"vectors": ("frame", "chain", "axis"), "distances": ("frame", "chain")})

    @checked_arguments
    def __init__(
        self,
        chains: AtomGroup | Sequence[AtomGroup] | Mapping[str, AtomGroup],
        *,
        trajectory: Trajectory | None = None,
    ) -> None:
        self._names, given = split_group_names([chains] if are_atoms(chains) else chains, "chains")
        labels = [group_label(self._names, number) for number in range(len(given))]
        chains = [atoms_of(chain, name=f"chain {label}") for label, chain in zip(labels, given, strict=True)]
        if len(chains) == 0:
            raise SelectionError("there is no chain: give at least one")
        for label, chain in zip(labels, chains, strict=True):
            Selection.of(chain, f"chain {label}")
            if chain.universe is not chains[0].universe:
                raise MismatchError(
                    f"chain {label} is in another Universe than chain {labels[0]}: all chains must be in the same one"
                )
        ends = np.array([[chain.ix[0], chain.ix[-1]] for chain in chains])
        super().__init__(chains[0].universe.atoms[ends.ravel()], trajectory)
        self._molecules = np.unique(np.concatenate([chain.ix for chain in chains])).astype(np.uint32)
        self._ends = self._selection.places.astype(np.uint32).reshape(-1, 2)

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self._ends)

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("vectors use no periodic images", whole=True)

    @property
    def molecules(self) -> NDArray[np.uint32]:
        """Indices of all atoms of the chains, because the ends alone do not show whether a chain is whole."""
        return self._molecules

    def computation(self, source: Source) -> Computation:
        """Return the computation that determines the vectors in each frame."""
        return end_to_end(len(self.atoms), self._ends)

    def conclude(self, tally: Tally) -> None:
        """Store vectors and distances."""
        values = tally.values.reshape(-1, self.n_chains, _N_VALUES)
        self.results.vectors = np.ascontiguousarray(values[..., :3])
        self.results.distances = np.ascontiguousarray(values[..., 3])

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time and the end-to-end distance of each chain."""
        names = column_names("chain", self._names or [str(number) for number in range(1, self.n_chains + 1)])
        return wide_columns(self.frames, self.times, self.results.distances, names, "Å")

    def _result_coordinates(self) -> list[LabelledArray]:
        names = np.arange(1, self.n_chains + 1) if self._names is None else np.array(self._names)
        chains = LabelledArray("chain", ("chain",), "", names)
        return [*super()._result_coordinates(), chains]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the distance over time for each chain if the chains have names, or else averaged over all chains."""
        from mdreel.results.curves import lines
        from mdreel.results.figure import time_series

        if self._names is not None:
            distances = self.results.distances
            return lines(self.times, distances, self._names, "End-to-end distance (Å)", title, ax, kind="Chains")
        label = "End-to-end distance (Å)" if self.n_chains == 1 else "Mean end-to-end distance (Å)"
        mean = self.results.distances.mean(axis=1)
        return time_series(self.times, mean, label, title, ax, frames=self.frames, from_zero=False)

    def _describe(self) -> str:
        chains = f"{self.n_chains:,} chain{'s' if self.n_chains > 1 else ''}"
        return f"{chains}, {self.n_frames:,} frames" if self._outcome is not None else f"{chains}, not run"
