"""Intermediate results of analyses over a growing trajectory."""

from collections.abc import Iterator, Sequence
from time import monotonic

from mdreel._core import Transformation
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.base.observer import ResultsView
from mdreel.errors import MdreelError, MismatchError
from mdreel.execution.progress import Progress
from mdreel.foundation.arguments import checked_arguments
from mdreel.live.incremental_run import IncrementalRun
from mdreel.trajectory.opener import Trajectory

_WAIT_SECONDS = 1.0
"""Maximum time, in s, that a round waits for a frame if there are no new results."""


@checked_arguments
def stream_results(
    analyses: Sequence[Analysis],
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    *,
    source: Trajectory | None = None,
    every: float = 1.0,
    n_workers: int | None = None,
    verbose: bool | None = None,
    transformations: Sequence[Transformation] = (),
    shown: Sequence[ResultsView] | None = None,
) -> Iterator[tuple[Analysis, ...]]:
    """Run analyses over a growing trajectory, and regularly yield the results so far.

    Parameters
    ----------
    analyses : sequence of Analysis
        Analyses of the same trajectory.
    start, stop, step : int, optional
        Range of frames; see `Analysis.run`. Negative values are not allowed.
    source : path, Source or Channel, optional
        Trajectory to read instead of the current trajectory of the analyses.
    every : float
        Minimum time between two results, in s. If you set this to 0, you will get results each time frames have
        arrived.
    n_workers : int, optional
        Number of threads. By default, one per processor.
    verbose : bool, optional
        Whether to show progress on a terminal or in a notebook. By default, this is the setting with which the analyses
        were created.
    transformations : sequence of Transformation
        See `Analysis.run`.
    shown : sequence of ResultsView, optional
        Results of each analysis that are shown by `mdreel watch` if the analyses read a channel. By default,
        `Analysis.columns`.

    Yields
    ------
    tuple of Analysis
        The analyses, which contain the results of all frames so far. Once the trajectory has ended, these are bitwise
        identical to the results of `Analysis.run`.

    Raises
    ------
    ArgumentError
        When an argument has the wrong type, for example because you passed one analysis instead of a list.
    UnsupportedError
        When the trajectory does not grow, or an analysis needs to know the number of frames in advance.
    MdreelError
        When reading or computing fails; see `Analysis.run`. Before this error is raised, you will get the results of
        the frames up to this point. These are also available after Ctrl-C.

    Notes
    -----
    The iterator waits for frames, and can be interrupted using Ctrl-C. Note that the results are assembled from scratch
    for each update, which takes longer if they are large. The timing contains the spans of the first 10,000 rounds.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> alpha = mda.Universe(TPR, XTC).select_atoms("name CA")
    >>> rmsd = mdreel.RMSD(alpha, trajectory=mdreel.trajectory.follow(XTC, idle=0.1))
    >>> for _ in mdreel.live.stream_results([rmsd], every=60):
    ...     print(len(rmsd.results.rmsd), "frames")
    10 frames

    Print the RMSD of the last frame of a running simulation every ten seconds:

    >>> rmsd = mdreel.RMSD(alpha, trajectory=mdreel.live.channel("run1"))  # doctest: +SKIP
    >>> for _ in mdreel.live.stream_results([rmsd], every=10):  # doctest: +SKIP
    ...     print(len(rmsd.results.rmsd), rmsd.results.rmsd[-1, 2])
    """
    if not every >= 0:
        raise MismatchError(f"every must be a time in seconds, 0 or more, not {every}")
    if source is not None:
        for analysis in analyses:
            analysis.set_trajectory(source)
    run = IncrementalRun(analyses, (start, stop, step), n_workers, transformations, shown)
    shown_at = monotonic()
    is_shown = any(analysis.is_verbose for analysis in analyses) if verbose is None else verbose
    with Progress(run.title, None, enabled=is_shown) as bar, run.board:
        while not run.is_over:
            due = max(0.0, shown_at + every - monotonic())
            try:
                run.advance(due if run.has_news else _WAIT_SECONDS)
            except MdreelError:
                if run.has_news:
                    run.show(is_last=True)
                    yield tuple(analyses)
                raise
            except KeyboardInterrupt:
                run.show(is_last=True)
                raise
            if is_shown:
                bar.update(run.n_frames)
            if run.has_news and (run.is_over or monotonic() - shown_at >= every):
                run.show(is_last=run.is_over)
                shown_at = monotonic()
                yield tuple(analyses)
        run.end()
