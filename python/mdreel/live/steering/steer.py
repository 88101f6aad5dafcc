"""Evaluation of rules on live results, and execution of their actions."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mdreel.analysis.base.analysis import Analysis
from mdreel.errors import MdreelError, MismatchError
from mdreel.live.steering.action_runner import Firing, Performer
from mdreel.live.steering.engine_control import Reach
from mdreel.live.steering.log import AuditLog, Moment
from mdreel.live.steering.rules_file import Plan
from mdreel.live.steering.trigger import Verdict, Watch


@dataclass(frozen=True)
class Observed:
    """Analysis whose values rules can check.

    Attributes
    ----------
    name : str
        Name by which rules refer to the analysis.
    analysis : Analysis
        The analysis.
    columns : callable
        Function that returns the columns of an analysis with results by name, with one value for each frame.
    """

    name: str
    analysis: Analysis
    columns: Callable[[Any], Mapping[str, ArrayLike]]


@dataclass(frozen=True)
class Steered:
    """Statistics of a steering so far.

    Attributes
    ----------
    n_frames : int
        Number of checked frames.
    n_fired, n_acted, n_failed : int
        Number of firings, of completed actions and of failed actions.
    is_stopped : bool
        Whether the simulation was stopped or is being stopped.
    """

    n_frames: int = 0
    n_fired: int = 0
    n_acted: int = 0
    n_failed: int = 0
    is_stopped: bool = False


def steer(
    turns: Iterable[object],
    observed: Sequence[Observed],
    plan: Plan,
    reach: Reach,
    log: AuditLog,
    *,
    dry_run: bool = False,
    folder: Path | None = None,
    input: str = "",  # noqa: A002 (the word of commands)
    step_of: Callable[[int, float], int | None] | None = None,
) -> Generator[Steered, None, None]:
    """Check live results against rules frame by frame, and carry out the actions of rules that fire.

    Parameters
    ----------
    turns : iterable
        Iterator that runs the analyses, such as `mdreel.live.stream_results` with ``every=0``.
    observed : sequence of Observed
        Named analyses.
    plan : Plan
        Rules and actions.
    reach : Reach
        Connection to the engine, `ByRequests` or `BySignal`.
    log : AuditLog
        Log of all events.
    dry_run : bool
        Whether to log actions without carrying them out.
    folder : Path, optional
        Working directory of commands; by default the current one.
    input : str
        Name of the analysed input, which commands receive.
    step_of : callable, optional
        Function that returns the step of a frame, given its number and time.

    Yields
    ------
    Steered
        Statistics after each arrival of frames, and at the end when all actions are done.

    Raises
    ------
    MismatchError
        If a rule refers to an unknown analysis or column.
    MdreelError, OSError
        If an analysis fails or the log cannot be written. A failed action is only recorded in the log.

    Notes
    -----
    Each frame is checked once and in order, so the frame at which a rule fires depends only on the values (and on the
    clock for a cool-down in seconds). A thread carries out the actions of one firing after the other, while the
    analyses continue. While the simulation is being stopped, no rule fires, unless the stop fails.

    Examples
    --------
    >>> import mdreel
    >>> from mdreel.live.steering import AuditLog, ByRequests, Observed, Plan, Rule, steer
    >>> plan = Plan(rule=(Rule(name="far", analysis="rmsd", above=5.0, actions=("stop",)),))
    >>> channel = mdreel.live.channel("run1")  # doctest: +SKIP
    >>> rmsd = mdreel.RMSD(ca, trajectory=channel)  # doctest: +SKIP
    >>> observed = [Observed("rmsd", rmsd, lambda done: {"rmsd": done.results.rmsd[:, 2]})]  # doctest: +SKIP
    >>> with AuditLog(channel.path / "steering.jsonl") as log:  # doctest: +SKIP
    ...     results = mdreel.live.stream_results([rmsd], every=0)
    ...     for so_far in steer(results, observed, plan, ByRequests(channel.path), log):
    ...         print(so_far.n_frames, so_far.n_fired)
    """
    plan.check_analyses([one.name for one in observed])
    performer = Performer(plan.actions, reach, log, folder or Path.cwd(), input)
    steering = _Steering(observed, plan, performer, log, dry_run, step_of)
    rules = ", ".join(rule.name for rule in plan.rule)
    log.write("started", f"rules: {rules}" + (" (dry run: no action is carried out)" if dry_run else ""))
    try:
        for _ in turns:
            steering.look()
            yield steering.so_far()
        performer.finish()
    except (MdreelError, OSError) as error:
        performer.finish()
        log.write("ended", f"{type(error).__name__}: {' '.join(str(error).split())}")
        raise
    except BaseException:  # Ctrl-C, or the caller stops to iterate
        performer.give_up()
        log.write("ended", f"interrupted after {steering.so_far().n_frames} frames")
        raise
    so_far = steering.so_far()
    found = f"{so_far.n_fired} firings, {so_far.n_acted} actions done, {so_far.n_failed} failed"
    log.write("ended", f"after {so_far.n_frames} frames: {found}")
    yield so_far


class _Steering:
    """Evaluation of rules over the growing results of analyses."""

    def __init__(
        self,
        observed: Sequence[Observed],
        plan: Plan,
        performer: Performer,
        log: AuditLog,
        dry_run: bool,
        step_of: Callable[[int, float], int | None] | None,
    ) -> None:
        self._observed = {one.name: one for one in observed}
        self._watches = [Watch(rule) for rule in plan.rule]
        self._performer = performer
        self._log = log
        self._dry_run = dry_run
        self._step_of = step_of
        self._has_stopped = False  # whether a dry run would have stopped the simulation
        self._stops = {name for name, action in plan.actions.items() if action.type == "stop"}
        self._n_frames = 0

    def so_far(self) -> Steered:
        n_fired = sum(watch.n_fired for watch in self._watches)
        performer = self._performer
        return Steered(self._n_frames, n_fired, performer.n_acted, performer.n_failed, performer.is_stopping)

    def look(self) -> None:
        """Check the new frames."""
        self._performer.check()
        wanted = {watch.rule.analysis: self._observed[watch.rule.analysis] for watch in self._watches}
        columns = {name: one.columns(one.analysis) for name, one in wanted.items()}
        first = next(iter(wanted.values())).analysis
        frames, times = first.frames, first.times
        values = [
            (watch, *_column(watch.rule.name, watch.rule.analysis, watch.rule.column, columns, len(frames)))
            for watch in self._watches
        ]
        for i in range(self._n_frames, len(frames)):
            for watch, column, series in values:
                self._hold(watch, column, float(series[i]), int(frames[i]), float(times[i]))
        self._n_frames = len(frames)

    def _hold(self, watch: Watch, column: str, value: float, frame: int, time: float) -> None:
        verdict, message = watch.look_at(value, not (self._performer.is_stopping or self._has_stopped))
        if verdict is Verdict.NOTHING:
            return
        step = None if self._step_of is None else self._step_of(frame, time)
        firing = Firing(watch.rule, Moment(frame, step, time, {column: value}))
        event = "fired" if verdict is Verdict.FIRES else "cooling-down"
        self._log.write(event, message, rule=watch.rule.name, moment=firing.moment)
        if verdict is not Verdict.FIRES:
            return
        if not self._dry_run:
            self._performer.submit(firing)
            return
        for name, text in self._performer.plan(firing):
            self._log.write("dry-run", text, rule=watch.rule.name, action=name, moment=firing.moment)
        self._has_stopped = self._has_stopped or not self._stops.isdisjoint(watch.rule.actions)


def _column(
    rule: str, analysis: str, wanted: str | None, columns: Mapping[str, Mapping[str, ArrayLike]], n_frames: int
) -> tuple[str, "np.ndarray[Any, np.dtype[Any]]"]:
    """Return the name and the values of the column that a rule checks."""
    there = columns[analysis]
    known = ", ".join(there) or "none"
    if wanted is None:
        if len(there) != 1:
            raise MismatchError(f"rule {rule!r}: {analysis} has several columns; set column to one of: {known}")
        wanted = next(iter(there))
    if wanted not in there:
        raise MismatchError(f"rule {rule!r}: {analysis} has no column {wanted!r}; known: {known}")
    series = np.asarray(there[wanted])
    if series.shape != (n_frames,) or series.dtype.kind not in "iufb":
        message = f"expected one number for each of {n_frames} frames in {wanted}, got {series.dtype} {series.shape}"
        raise MismatchError(f"rule {rule!r}: {analysis}: {message}")
    return wanted, series
