"""Execution of actions in a separate thread, so that slow engines do not delay the analyses."""

import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic

from mdreel.errors import MdreelError, MismatchError, WorkerError
from mdreel.live.steering.actions import Action
from mdreel.live.steering.engine_control import ActionResult, EngineConnection
from mdreel.live.steering.log import AuditLog, EventFrame
from mdreel.live.steering.rules import Rule

_POLL_SECONDS = 0.05
_SEEDS = 2**31 - 1
_STANDARD_ERROR = 2


@dataclass(frozen=True)
class Firing:
    """Event in which a rule fires at a frame."""

    rule: Rule
    frame: EventFrame


class ActionRunner:
    """Thread that carries out the actions of rules one after another, and records them in the log.

    Parameters
    ----------
    actions : dict
        Actions by name.
    engine : EngineConnection
        Connection to the engine.
    log : AuditLog
        Log of actions.
    folder : Path
        Working directory of commands.
    input_ : str
        Analysed input, which is the directory of the channel or the trajectory.

    Attributes
    ----------
    is_stopping : bool
        Whether the engine has been stopped or is being stopped.
    n_acted, n_failed : int
        Numbers of completed and failed actions.
    """

    def __init__(
        self, actions: dict[str, Action], engine: EngineConnection, log: AuditLog, folder: Path, input_: str
    ) -> None:
        self._actions = actions
        self._engine = engine
        self._log = log
        self._folder = folder
        self._input = input_
        self._cancelled = Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="steering")
        self._promised: list[Future[None]] = []
        self.is_stopping = False
        self.n_acted = 0
        self.n_failed = 0

    def plan(self, firing: Firing) -> Iterator[tuple[str, str]]:
        """Yield the name and a description of each action for a firing."""
        for name in firing.rule.actions:
            action = self._actions[name]
            if action.command is not None:
                known = self._facts(firing, action, None) | {"checkpoint": "CHECKPOINT"}
                yield name, f"would run {' '.join(action.words(known))}"
            else:
                yield name, f"would {self._engine.plan(action.type)}"

    def submit(self, firing: Firing) -> None:
        """Schedule the actions for a firing."""
        self.check()
        # No firing is submitted while this is True, so there is at most one stop at a time.
        self.is_stopping = any(self._actions[name].type == "stop" for name in firing.rule.actions)
        self._promised.append(self._thread.submit(self._run_actions, firing))

    def check(self) -> None:
        """Raise any error that occurred in the thread, for example if the log cannot be written."""
        for promise in [promise for promise in self._promised if promise.done()]:
            self._promised.remove(promise)
            promise.result()

    def finish(self) -> None:
        """Wait until all actions are done."""
        try:
            for promise in self._promised:
                promise.result()
        except BaseException:
            self.cancel()
            raise
        self._thread.shutdown()

    def cancel(self) -> None:
        """Cancel pending actions without waiting, after Ctrl-C."""
        self._cancelled.set()
        self._thread.shutdown(cancel_futures=True)

    def _run_actions(self, firing: Firing) -> None:
        checkpoint: str | None = None
        failed: str | None = None
        for name in firing.rule.actions:
            action = self._actions[name]
            try:
                if failed is not None:
                    raise WorkerError(f"skipped because {failed!r} failed")
                done = self._run_action(action, firing, checkpoint)
            except (MdreelError, OSError) as error:
                failed = failed or name
                self.n_failed += 1
                self._say("failed", " ".join(str(error).split()), firing, name)
                if action.type == "stop":
                    self.is_stopping = False  # rules may fire again
            else:
                checkpoint = done.checkpoint or checkpoint
                self.n_acted += 1
                self._say("acted", done.message, firing, name)

    def _say(self, event: str, message: str, firing: Firing, action: str) -> None:
        self._log.write(event, message, rule=firing.rule.name, action=action, frame=firing.frame)

    def _run_action(self, action: Action, firing: Firing, checkpoint: str | None) -> ActionResult:
        is_cancelled = self._cancelled.is_set
        if is_cancelled():
            raise WorkerError("skipped because the steering was interrupted")
        match action.type:
            case "stop":
                return self._engine.stop(is_cancelled)
            case "checkpoint":
                return self._engine.checkpoint(is_cancelled)
            case "change-stride":
                assert action.stride is not None
                return self._engine.change_stride(action.stride, is_cancelled)
            case "fork":
                begins = checkpoint or self._engine.last_checkpoint(is_cancelled).checkpoint
                if begins is None:
                    raise MismatchError("there is no checkpoint to fork from")
                return ActionResult(
                    f"from {begins}: {self._run_command(action, self._facts(firing, action, begins))}", begins
                )
        return ActionResult(self._run_command(action, self._facts(firing, action, checkpoint)), checkpoint)

    def _facts(self, firing: Firing, action: Action, checkpoint: str | None) -> dict[str, str]:
        """Return the values that are passed to a command."""
        frame = firing.frame
        facts = {
            "rule": firing.rule.name,
            "action": action.label,
            "sequence": str(frame.sequence),
            "values": json.dumps(dict(frame.values)),
            "input": self._input,
            "seed": str(1 + secrets.randbelow(_SEEDS)),
        }
        known = {"step": frame.step, "frame_time": frame.frame_time, "checkpoint": checkpoint}
        return facts | {name: str(value) for name, value in known.items() if value is not None}

    def _run_command(self, action: Action, facts: dict[str, str]) -> str:
        words = action.words(facts)
        environment = {**os.environ, **{f"MDREEL_{name.upper()}": value for name, value in facts.items()}}
        spoken = f"{words[0]} (seed {facts['seed']})" if action.type == "fork" else words[0]
        with self._output(action) as output:
            process = subprocess.Popen(
                words,
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C reaches only the steering, and background commands outlive it
            )
        if not action.is_waited_for:
            process.returncode = 0  # suppresses the ResourceWarning, as nobody waits for it
            return f"started {spoken} as process {process.pid}"
        status = self._wait(action, process)
        if status:
            how = f"exit status {status}" if status > 0 else f"signal {-status}"
            raise WorkerError(f"{spoken} ended with {how}")
        return f"ran {spoken} as process {process.pid}"

    @contextmanager
    def _output(self, action: Action) -> Iterator[int]:
        with ExitStack() as files:
            if action.output is None and action.is_waited_for:
                yield _STANDARD_ERROR  # standard output is reserved for results
                return
            path = self._folder / (action.output or f"{action.label}.log")
            yield files.enter_context(path.open("ab")).fileno()

    def _wait(self, action: Action, process: "subprocess.Popen[bytes]") -> int:
        until = None if action.timeout is None else monotonic() + action.timeout
        while True:
            try:
                return process.wait(_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            is_late = until is not None and monotonic() >= until
            if is_late or self._cancelled.is_set():
                _end(process)
                why = f"it took more than {action.timeout:g} s" if is_late else "the steering was interrupted"
                raise WorkerError(f"process {process.pid} was ended: {why}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(5.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
