"""Memory that the results of a run need, compared with the memory of the machine before the run."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from mdreel._core import Computation, FrameSet, Source
from mdreel.foundation.size_check import check_size

_LARGE_ROW = 1 << 20
"""Size of the results of a frame, bytes, above which the frames of a file are worth counting before the run."""


class Sized(Protocol):
    """An analysis that knows the size of its results."""

    def result_bytes(self, n_frames: int, n_columns: int) -> int:
        """Return the least memory of the results of a run, bytes, for frames with a number of values each."""

    @property
    def smaller_results(self) -> str:
        """Advice on how to obtain smaller results, for error messages."""


def check_result_sizes(
    analyses: Sequence[Sized], computations: Iterable[Computation], source: Source, selected: FrameSet | None
) -> None:
    """Refuse a run whose results are larger than the memory that this process can use.

    Parameters
    ----------
    analyses : sequence of Analysis
        The analyses.
    computations : iterable of Computation
        The computation of each analysis.
    source : Source
        The trajectory.
    selected : FrameSet or None
        The frames; None for all frames of a trajectory without a frame index.

    Raises
    ------
    MismatchError
        If the results of an analysis do not fit into the memory.
    """
    for analysis, computation in zip(analyses, computations, strict=True):
        n_frames = _n_frames(source, selected, is_counted=analysis.result_bytes(1, computation.n_columns) > _LARGE_ROW)
        n_bytes = analysis.result_bytes(n_frames, computation.n_columns)
        check_size(f"the results of {type(analysis).__name__}", n_bytes, analysis.smaller_results)


def _n_frames(source: Source, selected: FrameSet | None, *, is_counted: bool) -> int:
    """Return the number of frames, or 1 if it is unknown and not worth the time of counting."""
    if source.is_growing or (selected is not None and selected.is_endless):
        return 1
    if selected is not None:
        return len(selected)
    return source.n_frames if is_counted else 1
