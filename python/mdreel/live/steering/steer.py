"""Evaluation of rules for live results, and execution of their actions."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mdreel.analysis.base.analysis import Analysis
from mdreel.errors import MdreelError, MismatchError
from mdreel.foundation.formatting import counted
from mdreel.foundation.nearest_name import did_you_mean
from mdreel.live.steering.action_runner import ActionRunner, Firing
from mdreel.live.steering.engine_control import EngineConnection
from mdreel.live.steering.log import AuditLog, EventFrame
from mdreel.live.steering.rules import Rule
from mdreel.live.steering.rules_file import Plan
from mdreel.live.steering.trigger import Decision, RuleState


@dataclass(frozen=True)
class ObservedAnalysis:
    """Analysis whose values can be checked by rules.

    Attributes
    ----------
    name : str
        Name by which rules refer to the analysis.
    analysis : Analysis
        The analysis.
    columns : callable
        Function that returns the result columns of an analysis by name, with one value per frame.
    """

    name: str
    analysis: Analysis
    columns: Callable[[Any], Mapping[str, ArrayLike]]


@dataclass(frozen=True)
class SteeringStatistics:
    """Statistics of the steering so far.

    Attributes
    ----------
    n_frames : int
        Number of checked frames.
    n_fired, n_acted, n_failed : int
        Number of times that rules have fired, and numbers of completed and failed actions.
    is_stopped : bool
        Whether the simulation has been stopped or is being stopped.
    """

    n_frames: int = 0
    n_fired: int = 0
    n_acted: int = 0
    n_failed: int = 0
    is_stopped: bool = False


def steer(
    results: Iterable[object],
    observed: Sequence[ObservedAnalysis],
    plan: Plan,
    engine: EngineConnection,
    log: AuditLog,
    *,
    dry_run: bool = False,
    folder: Path | None = None,
    input: str = "",  # noqa: A002 (the word of commands)
    step_of: Callable[[int, float], int | None] | None = None,
) -> Generator[SteeringStatistics, None, None]:
    """Check rules against live results frame by frame, and carry out the actions of rules that fire.

    Parameters
    ----------
    results : iterable
        Iterator that runs the analyses, such as `mdreel.live.stream_results` with ``every=0``.
    observed : sequence of ObservedAnalysis
        Named analyses.
    plan : Plan
        Rules and actions.
    engine : EngineConnection
        Connection to the engine, which is a `RequestControl` or a `SignalControl`.
    log : AuditLog
        Log of all events.
    dry_run : bool
        Whether to log actions without carrying them out.
    folder : Path, optional
        Working directory for commands. By default, the current directory.
    input : str
        Name of the analysed input, which is passed to commands.
    step_of : callable, optional
        Function that returns the step of a frame, given its number and time.

    Yields
    ------
    SteeringStatistics
        Statistics each time frames have arrived, and at the end when all actions have been carried out.

    Raises
    ------
    MismatchError
        If a rule refers to an unknown analysis or column.
    MdreelError, OSError
        If an analysis fails, or if the log cannot be written. Failed actions do not raise an error, but are recorded in
        the log.

    Notes
    -----
    Each frame is checked once and in order. Therefore, the frame at which a rule fires depends only on the values (and
    on the clock, if the rule has a cool-down in seconds). Actions are carried out one after another in a separate
    thread, while the analyses continue. Rules do not fire while the simulation is being stopped, unless stopping it
    fails.

    Examples
    --------
    >>> import mdreel
    >>> from mdreel.live.steering import AuditLog, RequestControl, ObservedAnalysis, Plan, Rule, steer
    >>> plan = Plan(rule=(Rule(name="far", analysis="rmsd", above=5.0, actions=("stop",)),))
    >>> channel = mdreel.live.channel("run1")  # doctest: +SKIP
    >>> rmsd = mdreel.RMSD(ca, trajectory=channel)  # doctest: +SKIP
    >>> observed = [ObservedAnalysis("rmsd", rmsd, lambda done: {"rmsd": done.results.rmsd[:, 2]})]  # doctest: +SKIP
    >>> with AuditLog(channel.path / "steering.jsonl") as log:  # doctest: +SKIP
    ...     results = mdreel.live.stream_results([rmsd], every=0)
    ...     for so_far in steer(results, observed, plan, RequestControl(channel.path), log):
    ...         print(so_far.n_frames, so_far.n_fired)
    """
    plan.check_analyses([one.name for one in observed])
    runner = ActionRunner(plan.actions, engine, log, folder or Path.cwd(), input)
    steering = _Steering(observed, plan, runner, log, dry_run, step_of)
    rules = ", ".join(rule.name for rule in plan.rule)
    log.write("started", f"rules: {rules}" + (" (dry run: no action is carried out)" if dry_run else ""))
    try:
        for _ in results:
            steering.check_new_frames()
            yield steering.so_far()
        runner.finish()
    except (MdreelError, OSError) as error:
        runner.finish()
        log.write("ended", f"{type(error).__name__}: {' '.join(str(error).split())}")
        raise
    except BaseException:  # Ctrl-C, or the caller stops to iterate
        runner.cancel()
        log.write("ended", f"interrupted after {counted(steering.so_far().n_frames, 'frame')}")
        raise
    so_far = steering.so_far()
    found = f"{counted(so_far.n_fired, 'firing')}, {counted(so_far.n_acted, 'action')} done, {so_far.n_failed} failed"
    log.write("ended", f"after {counted(so_far.n_frames, 'frame')}: {found}")
    yield so_far


class _Steering:
    """Evaluates rules for the growing results of analyses."""

    def __init__(
        self,
        observed: Sequence[ObservedAnalysis],
        plan: Plan,
        runner: ActionRunner,
        log: AuditLog,
        dry_run: bool,
        step_of: Callable[[int, float], int | None] | None,
    ) -> None:
        self._observed = {one.name: one for one in observed}
        self._states = [RuleState(rule) for rule in plan.rule]
        self._runner = runner
        self._log = log
        self._dry_run = dry_run
        self._step_of = step_of
        self._has_stopped = False  # whether a dry run would have stopped the simulation
        self._stops = {name for name, action in plan.actions.items() if action.type == "stop"}
        self._n_frames = 0

    def so_far(self) -> SteeringStatistics:
        n_fired = sum(state.n_fired for state in self._states)
        runner = self._runner
        return SteeringStatistics(self._n_frames, n_fired, runner.n_acted, runner.n_failed, runner.is_stopping)

    def check_new_frames(self) -> None:
        """Check the new frames."""
        self._runner.check()
        wanted = {state.rule.analysis: self._observed[state.rule.analysis] for state in self._states}
        columns = {name: one.columns(one.analysis) for name, one in wanted.items()}
        first = next(iter(wanted.values())).analysis
        frames, times = first.frames, first.times
        values = [(state, *_values(state.rule, columns[state.rule.analysis], len(frames))) for state in self._states]
        for i in range(self._n_frames, len(frames)):
            for state, column, series in values:
                self._evaluate(state, column, float(series[i]), int(frames[i]), float(times[i]))
        self._n_frames = len(frames)

    def _evaluate(self, state: RuleState, column: str, value: float, frame: int, time: float) -> None:
        decision, message = state.evaluate(value, not (self._runner.is_stopping or self._has_stopped))
        if decision is Decision.NOTHING:
            return
        step = None if self._step_of is None else self._step_of(frame, time)
        firing = Firing(state.rule, EventFrame(frame, step, time, {column: value}))
        event = "fired" if decision is Decision.FIRES else "cooling-down"
        self._log.write(event, message, rule=state.rule.name, frame=firing.frame)
        if decision is not Decision.FIRES:
            return
        if not self._dry_run:
            self._runner.submit(firing)
            return
        for name, text in self._runner.plan(firing):
            self._log.write("dry-run", text, rule=state.rule.name, action=name, frame=firing.frame)
        self._has_stopped = self._has_stopped or not self._stops.isdisjoint(state.rule.actions)


def column_of_rule(rule: Rule, columns: Mapping[str, object]) -> str:
    """Return the name of the column that a rule checks.

    Parameters
    ----------
    rule : Rule
        The rule.
    columns : mapping
        Columns of its analysis by name.

    Raises
    ------
    MismatchError
        If there is no such column, or if the rule has to name one of several.
    """
    wanted, known = rule.column, ", ".join(columns) or "none"
    where = f"rule {rule.name!r}: {rule.analysis}"
    if wanted is None:
        if len(columns) != 1:
            raise MismatchError(f"{where} has several columns; set column to one of: {known}")
        return next(iter(columns))
    if wanted not in columns:
        raise MismatchError(f"{where} has no column {wanted!r}; known: {known}{did_you_mean(wanted, columns)}")
    return wanted


def _values(
    rule: Rule, columns: Mapping[str, ArrayLike], n_frames: int
) -> tuple[str, "np.ndarray[Any, np.dtype[Any]]"]:
    """Return the name and the values of the column that a rule checks."""
    name = column_of_rule(rule, columns)
    series = np.asarray(columns[name])
    if series.shape != (n_frames,) or series.dtype.kind not in "iufb":
        message = f"expected one number for each of {n_frames} frames in {name}, got {series.dtype} {series.shape}"
        raise MismatchError(f"rule {rule.name!r}: {rule.analysis}: {message}")
    return name, series
