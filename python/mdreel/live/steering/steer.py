"""Steering of a simulation by live results."""

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
    """An analysis whose values rules are about.

    Attributes
    ----------
    name : str
        What rules call it.
    analysis : Analysis
        The analysis.
    columns : callable
        Returns its columns by name, each with a value for each frame; is given the analysis when it has results.
    """

    name: str
    analysis: Analysis
    columns: Callable[[Any], Mapping[str, ArrayLike]]


@dataclass(frozen=True)
class Steered:
    """What came of a steering so far.

    Attributes
    ----------
    n_frames : int
        Frames that were looked at.
    n_fired, n_acted, n_failed : int
        How often rules fired, and how many actions were done, and could not be.
    is_stopped : bool
        Whether the simulation is being stopped, or was.
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
    """Hold live results of analyses against rules, frame by frame, and act.

    Parameters
    ----------
    turns : iterable
        Runs the analyses: what `mdreel.live` returns, with ``every=0``.
    observed : sequence of Observed
        The analyses, with names.
    plan : Plan
        Rules and actions.
    reach : Reach
        The way to the engine: `ByRequests` or `BySignal`.
    log : AuditLog
        Where all that happens is written.
    dry_run : bool
        Whether it is only said what would be done.
    folder : Path, optional
        Where commands run; by default where we do.
    input : str
        What is analysed: commands are told.
    step_of : callable, optional
        Returns the step of a frame of this number and time.

    Yields
    ------
    Steered
        What came of it so far, each time frames have come; the last time when all actions are done.

    Raises
    ------
    MismatchError
        If a rule is about an analysis or a column that there is not.
    MdreelError, OSError
        As of `mdreel.live`, or if the log cannot be written. A failing action is written to the log, and no more.

    Notes
    -----
    Each frame is looked at once, in order, however many come at a time: which frame a rule fires at depends on the
    values alone (and on the clock where it rests for seconds). Actions are done by a thread, one firing after the
    other, while frames are taken on. When a stop is under way no rule fires, unless it fails.

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
    log.write("started", f"rules: {rules}" + (" (dry run: nothing is done)" if dry_run else ""))
    try:
        for _ in turns:
            steering.look()
            yield steering.so_far()
        performer.finish()
    except (MdreelError, OSError) as error:
        performer.finish()
        log.write("ended", f"{type(error).__name__}: {' '.join(str(error).split())}")
        raise
    except BaseException:  # Ctrl-C, or nobody asks for more
        performer.give_up()
        log.write("ended", f"interrupted after {steering.so_far().n_frames} frames")
        raise
    so_far = steering.so_far()
    found = f"{so_far.n_fired} firings, {so_far.n_acted} actions done, {so_far.n_failed} failed"
    log.write("ended", f"after {so_far.n_frames} frames: {found}")
    yield so_far


class _Steering:
    """Rules over the results of analyses as they grow."""

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
        self._has_stopped = False  # as far as a dry run would know
        self._stops = {name for name, action in plan.actions.items() if action.type == "stop"}
        self._n_frames = 0

    def so_far(self) -> Steered:
        n_fired = sum(watch.n_fired for watch in self._watches)
        performer = self._performer
        return Steered(self._n_frames, n_fired, performer.n_acted, performer.n_failed, performer.is_stopping)

    def look(self) -> None:
        """Look at the frames that have come."""
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
    """Return the name and the values of the column that a rule is about."""
    there = columns[analysis]
    known = ", ".join(there) or "none"
    if wanted is None:
        if len(there) != 1:
            raise MismatchError(f"rule {rule!r}: {analysis} has several columns, of which one must be named: {known}")
        wanted = next(iter(there))
    if wanted not in there:
        raise MismatchError(f"rule {rule!r}: {analysis} has no column {wanted!r}; known: {known}")
    series = np.asarray(there[wanted])
    if series.shape != (n_frames,) or series.dtype.kind not in "iufb":
        message = f"expected a number for each of {n_frames} frames in {wanted}, got {series.dtype} {series.shape}"
        raise MismatchError(f"rule {rule!r}: {analysis}: {message}")
    return wanted, series
