"""Thread that runs the actions of rules."""

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
from mdreel.live.steering.engine_control import Done, Reach
from mdreel.live.steering.log import AuditLog, Moment
from mdreel.live.steering.rules import Rule

_LOOK_SECONDS = 0.05
_SEEDS = 2**31 - 1
_STANDARD_ERROR = 2


@dataclass(frozen=True)
class Firing:
    """A rule that fires.

    Attributes
    ----------
    rule : Rule
        The rule.
    moment : Moment
        The frame.
    """

    rule: Rule
    moment: Moment


class Performer:
    """Does the actions of firings, one after the other, and says so in the log.

    Parameters
    ----------
    actions : dict
        The actions, by name.
    reach : Reach
        The way to the engine.
    log : AuditLog
        Where it says what it did.
    folder : Path
        Where commands run.
    input_ : str
        What is analysed: the channel's directory, or the trajectory.

    Attributes
    ----------
    is_stopping : bool
        Whether the engine is being stopped, or was.
    n_acted, n_failed : int
        How many actions were done, and could not be.
    """

    def __init__(self, actions: dict[str, Action], reach: Reach, log: AuditLog, folder: Path, input_: str) -> None:
        self._actions = actions
        self._reach = reach
        self._log = log
        self._folder = folder
        self._input = input_
        self._given_up = Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="steering")
        self._promised: list[Future[None]] = []
        self.is_stopping = False
        self.n_acted = 0
        self.n_failed = 0

    def plan(self, firing: Firing) -> Iterator[tuple[str, str]]:
        """Say what would be done: the names of the actions, and in words."""
        for name in firing.rule.actions:
            action = self._actions[name]
            if action.command is not None:
                known = self._facts(firing, action, None) | {"checkpoint": "CHECKPOINT"}
                yield name, f"would run {' '.join(action.words(known))}"
            else:
                yield name, f"would {self._reach.plan(action.type)}"

    def submit(self, firing: Firing) -> None:
        """Have the actions of a firing done."""
        self.check()
        # None is submitted while it is true, so that who sets it back does not meet another stop.
        self.is_stopping = any(self._actions[name].type == "stop" for name in firing.rule.actions)
        self._promised.append(self._thread.submit(self._perform, firing))

    def check(self) -> None:
        """Raise what kept the thread from going on: a log that cannot be written."""
        for promise in [promise for promise in self._promised if promise.done()]:
            self._promised.remove(promise)
            promise.result()

    def finish(self) -> None:
        """Wait until all is done."""
        try:
            for promise in self._promised:
                promise.result()
        except BaseException:
            self.give_up()
            raise
        self._thread.shutdown()

    def give_up(self) -> None:
        """Begin nothing more, and wait for nobody: on Ctrl-C."""
        self._given_up.set()
        self._thread.shutdown(cancel_futures=True)

    def _perform(self, firing: Firing) -> None:
        checkpoint: str | None = None
        failed: str | None = None
        for name in firing.rule.actions:
            action = self._actions[name]
            try:
                if failed is not None:
                    raise WorkerError(f"not done, as {failed!r} has failed")
                done = self._do(action, firing, checkpoint)
            except (MdreelError, OSError) as error:
                failed = failed or name
                self.n_failed += 1
                self._say("failed", " ".join(str(error).split()), firing, name)
                if action.type == "stop":
                    self.is_stopping = False  # rules are looked at again
            else:
                checkpoint = done.checkpoint or checkpoint
                self.n_acted += 1
                self._say("acted", done.message, firing, name)

    def _say(self, event: str, message: str, firing: Firing, action: str) -> None:
        self._log.write(event, message, rule=firing.rule.name, action=action, moment=firing.moment)

    def _do(self, action: Action, firing: Firing, checkpoint: str | None) -> Done:
        is_given_up = self._given_up.is_set
        if is_given_up():
            raise WorkerError("not done, as the steering was interrupted")
        match action.type:
            case "stop":
                return self._reach.stop(is_given_up)
            case "checkpoint":
                return self._reach.checkpoint(is_given_up)
            case "change-stride":
                assert action.stride is not None
                return self._reach.change_stride(action.stride, is_given_up)
            case "fork":
                begins = checkpoint or self._reach.last_checkpoint(is_given_up).checkpoint
                if begins is None:
                    raise MismatchError("there is no checkpoint to fork from")
                return Done(f"from {begins}: {self._run(action, self._facts(firing, action, begins))}", begins)
        return Done(self._run(action, self._facts(firing, action, checkpoint)), checkpoint)

    def _facts(self, firing: Firing, action: Action, checkpoint: str | None) -> dict[str, str]:
        """What a command is told."""
        moment = firing.moment
        facts = {
            "rule": firing.rule.name,
            "action": action.called,
            "sequence": str(moment.sequence),
            "values": json.dumps(dict(moment.values)),
            "input": self._input,
            "seed": str(1 + secrets.randbelow(_SEEDS)),
        }
        known = {"step": moment.step, "frame_time": moment.frame_time, "checkpoint": checkpoint}
        return facts | {name: str(value) for name, value in known.items() if value is not None}

    def _run(self, action: Action, facts: dict[str, str]) -> str:
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
                start_new_session=True,  # Ctrl-C is for us, and what is not waited for outlives us
            )
        if not action.is_waited_for:
            process.returncode = 0  # nobody waits for it, and that is no mistake to be warned of
            return f"started {spoken} as process {process.pid}"
        status = self._ended(action, process)
        if status:
            how = f"exit status {status}" if status > 0 else f"signal {-status}"
            raise WorkerError(f"{spoken} ended with {how}")
        return f"{spoken} was run, as process {process.pid}"

    @contextmanager
    def _output(self, action: Action) -> Iterator[int]:
        with ExitStack() as files:
            if action.output is None and action.is_waited_for:
                yield _STANDARD_ERROR  # results go to the standard output
                return
            path = self._folder / (action.output or f"{action.called}.log")
            yield files.enter_context(path.open("ab")).fileno()

    def _ended(self, action: Action, process: "subprocess.Popen[bytes]") -> int:
        until = None if action.timeout is None else monotonic() + action.timeout
        while True:
            try:
                return process.wait(_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            is_late = until is not None and monotonic() >= until
            if is_late or self._given_up.is_set():
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
