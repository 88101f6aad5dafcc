"""Matrix of distances between all pairs of frames."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, distance_matrix, kept_positions
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.comparison_threads import comparison_threads
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.weights import weights_of
from mdreel.errors import ArgumentError, FunctionError, MdreelWarning, MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments, unknown_parameter
from mdreel.foundation.stack_level import caller_level
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import atoms_of
from mdreel.trajectory.selection_tree import is_updating

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe

Metric: TypeAlias = Callable[..., float]
"""Distance between frames: ``metric(a, b, weights=weights)`` with positions of shape (n_atoms, 3), float64, in Å."""

_OPTIONS_OF_RUN = ("backend", "n_workers", "n_parts", "unsupported_backend")


class DistanceMatrix(Analysis):
    """Compute the RMSD or another distance between all pairs of frames ("2D RMSD").

    Parameters
    ----------
    universe : MDAnalysis.Universe or AtomGroup
        The system.
    select : str, optional
        The atoms, in MDAnalysis's selection language. Use None for all atoms of `universe` in the given order,
        including repeated atoms.
    metric : callable, optional
        Function that returns the distance between two frames. It will be called as ``metric(a, b, weights=weights)``,
        where `a` and `b` are the positions in an earlier and a later frame in Å, as float64 arrays of shape (n_atoms,
        3). The default is the RMSD, which can also be selected using `MDAnalysis.analysis.rms.rmsd`. Other functions
        are slow, because they have to be called for each pair of frames in Python.
    cutoff : float
        Distances up to this value are set to 0. The default is negative, as in MDAnalysis, so that no RMSD is changed.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        Weights of the atoms in the mean and in the superposition. These will be normalised, except for a `metric`,
        which receives the given weights or the masses unchanged.
    superposition : bool
        Whether to superpose the two frames of each pair first to obtain the minimum RMSD.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.
    **options
        Parameters of `run`, accepted for compatibility with MDAnalysis, but not used. You will see a warning if you
        pass any. Pass them to `run` instead.

    Attributes
    ----------
    results.dist_matrix : ndarray, shape (n_frames, n_frames), float64
        Distances between frames, in Å for the RMSD. The matrix is symmetric, with zeros on the diagonal.

    Raises
    ------
    SelectionError
        When your selection is empty or not valid.
    MismatchError
        When your weights do not match the atoms, or you use both `metric` and `superposition`. In `run`, when a
        coordinate is not finite.
    FunctionError
        In `run`, when `metric` does not return a number. Exceptions raised by `metric` are passed on unchanged.

    Warns
    -----
    MdreelWarning
        When `universe` is an UpdatingAtomGroup, whose current atoms will then be used in every frame.

    Notes
    -----
    First, the trajectory is read in a single pass. Threads on the local machine (one for each local worker of the run)
    then compare the frames, using the algorithm of `mdreel.RMSD` (QCP). For i < j, the matrix element is bitwise
    identical to the RMSD of frame i from frame j, whichever executor you use. You can interrupt the comparison using
    Ctrl-C.

    The matrix needs 8 bytes of memory per pair of frames. The positions need 12 bytes per atom and frame, and four
    times as much while they are being sorted. For example, 10,000 frames need 0.8 GB, plus 0.1 GB for 214 atoms. To
    reduce the memory use, analyse fewer frames using `step`.

    This analysis can be used as the input of `MDAnalysis.analysis.diffusionmap.DiffusionMap`.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> matrix = mdreel.DistanceMatrix(mda.Universe(PSF, DCD), select="name CA", superposition=True).run()
    >>> matrix.results.dist_matrix.shape
    (98, 98)
    """

    _moved_to_results: ClassVar[Mapping[str, str]] = {"dist_matrix": "dist_matrix"}

    _result_dimensions = MappingProxyType({"dist_matrix": ("frame", "other_frame")})

    @checked_arguments
    def __init__(
        self,
        universe: Universe | AtomGroup,
        select: str | None = "all",
        metric: Metric | None = None,
        cutoff: float = 1e0 - 5,
        weights: Literal["mass"] | ArrayLike | None = None,
        *,
        superposition: bool = False,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
        **options: Any,
    ) -> None:
        _check_options(options)
        if is_updating(universe):
            message = "universe is an UpdatingAtomGroup: the analysis uses its current atoms in every frame"
            warnings.warn(message, MdreelWarning, stacklevel=caller_level())
            universe = universe.atoms
        super().__init__(atoms_of(universe, select, "universe"), trajectory, verbose=verbose)
        self._metric = None if _is_rmsd(metric) else metric
        self._units = {"dist_matrix": "Å" if self._metric is None else ""}
        if self._metric is not None and not callable(metric):
            raise MismatchError(f"metric must be a function of the positions of two frames, not {metric!r}")
        if self._metric is not None and superposition:
            raise MismatchError("superposition is for the RMSD: superpose frames in metric, or leave metric out")
        self._cutoff = float(cutoff)
        if np.isnan(self._cutoff):
            raise MismatchError("cutoff must be a number, not NaN")
        self._weights: NDArray[np.float64] | None = None
        self._given_weights: Any = weights
        if self._metric is None or isinstance(weights, str):
            self._given_weights = numbers = weights_of(self._atomgroup, weights)
            self._weights = self._selection.add_up(numbers)
        self._superposition = superposition

    if not TYPE_CHECKING:

        @property
        def __class__(self) -> type:
            """MDAnalysis's class once it is imported, because its `DiffusionMap` accepts only that class."""
            theirs = sys.modules.get("MDAnalysis.analysis.diffusionmap")
            return getattr(theirs, "DistanceMatrix", type(self))

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, pickle compares the type with `__class__`.
        return _empty, (type(self),), self.__dict__

    @property
    def _calculated(self) -> bool:
        """Whether results are available. MDAnalysis's `DiffusionMap` reads this attribute."""
        return self._outcome is not None

    def columns(self) -> Sequence[Column]:
        """Return one row per pair of different frames, with both frames and the RMSD or distance between them."""
        matrix, frames = self.results.dist_matrix, self.frames
        first, second = np.triu_indices(len(frames), 1)
        name = "rmsd" if self._metric is None else "distance"
        values = Column(name, self._units["dist_matrix"], matrix[first, second])
        return [Column("frame", "", frames[first]), Column("other", "", frames[second]), values]

    def _result_coordinates(self) -> list[LabelledArray]:
        other = LabelledArray("other_frame", ("other_frame",), "", self.frames)
        return [*super()._result_coordinates(), other]

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("frames are compared without periodic images", whole=True, paths=not self._superposition)

    def result_bytes(self, n_frames: int, n_columns: int) -> int:
        """Return the minimum memory for the results of a run: the positions of all frames and the matrix."""
        return super().result_bytes(n_frames, n_columns) + 8 * n_frames**2

    def computation(self, source: Source) -> Computation:
        """Return the computation that keeps the positions of each frame."""
        return kept_positions(len(self.atoms))

    def conclude(self, tally: Tally) -> None:
        """Compute the distances between all pairs of frames."""
        n_frames, n_atoms = tally.n_frames, len(self.atoms)
        # The core packs two float32 into each float64 of a row.
        positions = tally.values.view(np.float32)[:, : 3 * n_atoms].reshape(n_frames, n_atoms, 3)
        matrix = self._rmsd(positions) if self._metric is None else self._called(positions, self._metric)
        if self._cutoff >= 0 or self._metric is not None:
            for row in matrix:  # a row at a time, as a mask of all pairs takes memory
                row[row <= self._cutoff] = 0.0
        self.results.dist_matrix = matrix

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the matrix as a map over time."""
        from mdreel.results.maps import frame_map

        label = "RMSD (Å)" if self._metric is None else "Distance"
        return frame_map(self.times, self.results.dist_matrix, label, title, ax)

    def _rmsd(self, positions: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the RMSD for all pairs of frames, shape (n_frames, n_frames)."""
        n_threads = comparison_threads(self._done())
        pairs = distance_matrix(positions, self._weights, self._superposition, n_threads)
        matrix: NDArray[np.float64] = pairs.reshape(len(positions), len(positions))
        return matrix

    def _called(self, positions: NDArray[np.float32], metric: Metric) -> NDArray[np.float64]:
        """Return the distances that the user's metric returns for all pairs, shape (n_frames, n_frames)."""
        frames = self.frames
        matrix = np.zeros((len(positions), len(positions)))

        def at(place: int) -> NDArray[np.float64]:
            return np.asarray(positions[place, self._selection.places], np.float64)

        for i in range(len(positions)):
            for j in range(i + 1, len(positions)):
                pair = f"frames {frames[i]} and {frames[j]}"
                try:
                    found = metric(at(i), at(j), weights=self._given_weights)
                except Exception as error:
                    error.add_note(f"in the metric of {pair}")
                    raise
                matrix[i, j] = matrix[j, i] = _distance(found, pair)
        return matrix


def _distance(found: Any, pair: str) -> float:
    """Check a distance that a user function returned, and return it."""
    value = np.asarray(found)
    if value.size != 1 or value.dtype.kind not in "fiub" or np.isnan(value).any():
        raise FunctionError(f"the metric of {pair} returned {found!r}: expected a number")
    return float(value.reshape(()))


def _is_rmsd(metric: Metric | None) -> bool:
    """Return whether a metric is MDAnalysis's RMSD, which the core computes."""
    name = getattr(metric, "__module__", None), getattr(metric, "__qualname__", None)
    return metric is None or name == ("MDAnalysis.analysis.rms", "rmsd")


def _check_options(options: Mapping[str, Any]) -> None:
    """Warn about `run` parameters that are passed when the analysis is created, and reject all other options."""
    for name in options:
        if name not in _OPTIONS_OF_RUN:
            names = list(inspect.signature(DistanceMatrix).parameters)
            raise ArgumentError(unknown_parameter("DistanceMatrix", name, names[:-1]))
        message = f"{name} has no effect on a new DistanceMatrix: give it to run()"
        warnings.warn(message, MdreelWarning, stacklevel=caller_level())


def _empty(kind: type[DistanceMatrix]) -> DistanceMatrix:
    """Return an analysis without attributes, which `pickle` then sets."""
    return kind.__new__(kind)
