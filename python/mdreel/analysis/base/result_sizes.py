"""Memory check for the results of a run, before the run starts."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from mdreel._core import Computation, FrameSet, Source
from mdreel.foundation.size_check import check_size

_LARGE_ROW = 1 << 20
"""Size in bytes of the results for one frame above which the frames of a file are counted before the run."""


class Sized(Protocol):
    """An analysis that can compute the size of its results."""

    def result_bytes(self, n_frames: int, n_columns: int) -> int:
        """Return the minimum memory in bytes for the results of a run, given the numbers of frames and of values."""

    @property
    def smaller_results(self) -> str:
        """Advice on how to obtain smaller results, for error messages."""


def check_result_sizes(
    analyses: Sequence[Sized], computations: Iterable[Computation], source: Source, selected: FrameSet | None
) -> None:
    """Raise an error if the results of a run are larger than the memory that this process can use.

    Parameters
    ----------
    analyses : sequence of Analysis
        The analyses.
    computations : iterable of Computation
        The computation of each analysis.
    source : Source
        The trajectory.
    selected : FrameSet or None
        The frames, or None for all frames of a trajectory without a frame index.

    Raises
    ------
    MismatchError
        If the results of an analysis do not fit into memory.
    """
    for analysis, computation in zip(analyses, computations, strict=True):
        n_frames = _n_frames(source, selected, is_counted=analysis.result_bytes(1, computation.n_columns) > _LARGE_ROW)
        n_bytes = analysis.result_bytes(n_frames, computation.n_columns)
        check_size(f"the results of {type(analysis).__name__}", n_bytes, analysis.smaller_results)


def _n_frames(source: Source, selected: FrameSet | None, *, is_counted: bool) -> int:
    """Return the number of frames, or 1 if the number is unknown and counting the frames would take too long."""
    if source.is_growing or (selected is not None and selected.is_endless):
        return 1
    if selected is not None:
        return len(selected)
    return source.n_frames if is_counted else 1
