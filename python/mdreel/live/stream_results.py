"""Live results of analyses while their trajectory grows."""

from collections.abc import Iterator, Sequence
from time import monotonic

from mdreel._core import Transformation
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.base.observer import ResultsView
from mdreel.errors import MdreelError, MismatchError
from mdreel.execution.progress import Progress
from mdreel.live.incremental_run import Turns
from mdreel.trajectory.opener import Trajectory

_WAIT_SECONDS = 1.0
"""How long a turn waits for a frame where nothing is due before."""


def stream_results(
    analyses: Sequence[Analysis],
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    *,
    source: Trajectory | None = None,
    every: float = 1.0,
    n_workers: int | None = None,
    progress: bool = False,
    transformations: Sequence[Transformation] = (),
    shown: Sequence[ResultsView] | None = None,
) -> Iterator[tuple[Analysis, ...]]:
    """Run analyses over a trajectory that grows, and stop now and then with the results so far.

    Parameters
    ----------
    analyses : sequence of Analysis
        The analyses, of one trajectory.
    start, stop, step : int, optional
        Which frames, as of `Analysis.run`; not negative.
    source : path, Source or Channel, optional
        What is read from now on instead of the trajectory that the analyses had.
    every : float
        At most so often, s: 0 for each time that frames have come.
    n_workers : int, optional
        How many threads; by default one for each processor.
    progress : bool
        Whether progress is shown, on a terminal or in a notebook.
    transformations : sequence of Transformation
        As of `Analysis.run`.
    shown : sequence of ResultsView, optional
        What `mdreel watch` sees of each analysis, if they read a channel; by default `Analysis.columns`.

    Yields
    ------
    tuple of Analysis
        The analyses, whose results are those of the frames so far: as of a run over these and no others. The last time
        all frames are in them, and they are the same, to the bit, as those of `Analysis.run`.

    Raises
    ------
    UnsupportedError
        If the trajectory does not grow, or an analysis needs to know how many frames there will be.
    MdreelError
        As of `Analysis.run`, after the results of the frames before have been given. They are there after Ctrl-C, too.

    Notes
    -----
    Whoever asks for the next results waits for frames meanwhile, in which Ctrl-C is seen. Results are made anew each
    time: that takes as long as they are large. Timing has the spans of the first 10,000 times that frames came.

    Examples
    --------
    >>> import mdreel
    >>> rmsd = mdreel.RMSD(ca, trajectory=mdreel.live.channel("run1"))  # doctest: +SKIP
    >>> for _ in mdreel.live.stream_results([rmsd], every=10):  # doctest: +SKIP
    ...     print(len(rmsd.results.rmsd), rmsd.results.rmsd[-1, 2])
    """
    if not every >= 0:
        raise MismatchError(f"every must be a time in seconds, 0 or more, not {every}")
    if source is not None:
        for analysis in analyses:
            analysis.read_from(source)
    turns = Turns(analyses, (start, stop, step), n_workers, transformations, shown)
    shown_at = monotonic()
    with Progress(turns.title, None, enabled=progress) as bar, turns.board:
        while not turns.is_over:
            due = max(0.0, shown_at + every - monotonic())
            try:
                turns.turn(due if turns.has_news else _WAIT_SECONDS)
            except MdreelError:
                if turns.has_news:
                    turns.show(is_last=True)
                    yield tuple(analyses)
                raise
            except KeyboardInterrupt:
                turns.show(is_last=True)
                raise
            if progress:
                bar.update(turns.n_frames)
            if turns.has_news and (turns.is_over or monotonic() - shown_at >= every):
                turns.show(is_last=turns.is_over)
                shown_at = monotonic()
                yield tuple(analyses)
        turns.end()
