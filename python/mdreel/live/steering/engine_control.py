"""Control of an engine by requests or signals."""

import os
import select
import signal as signals
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from mdreel.errors import FormatError, MismatchError, StreamError, StreamTimeoutError, UnsupportedError
from mdreel.live.channels.requests import ask

_LOOK_SECONDS = 0.1

GivenUp = Callable[[], bool]
"""Is asked now and then whether nobody waits any more."""


@dataclass(frozen=True)
class Done:
    """What an engine did.

    Attributes
    ----------
    message : str
        In words.
    checkpoint : str or None
        A checkpoint that is there now.
    """

    message: str
    checkpoint: str | None = None


class Reach(Protocol):
    """A way to an engine. What it does not have is an `UnsupportedError`."""

    def plan(self, kind: str) -> str:
        """Say what would be done, without doing it."""

    def stop(self, is_given_up: GivenUp) -> Done:
        """Stop the engine; return when it has written a checkpoint."""

    def checkpoint(self, is_given_up: GivenUp) -> Done:
        """Have it write a checkpoint, and go on."""

    def last_checkpoint(self, is_given_up: GivenUp) -> Done:
        """Return a checkpoint to fork from."""

    def change_stride(self, stride: int, is_given_up: GivenUp) -> Done:
        """Have it publish a frame every so many steps."""


class ByRequests:
    """The producer of a channel, which looks at requests between two frames: a reporter, or users' code.

    Parameters
    ----------
    channel : Path
        The channel's directory.
    timeout : float, optional
        For how long it may not answer, s; by default as long as it runs.
    """

    def __init__(self, channel: Path, timeout: float | None = None) -> None:
        self._channel = channel
        self._timeout = timeout

    def plan(self, kind: str) -> str:
        """Say what would be done."""
        return f"ask the simulation of channel {self._channel} to {kind}"

    def stop(self, is_given_up: GivenUp) -> Done:
        """Ask it to stop."""
        return self._asked("stop", {}, is_given_up)

    def checkpoint(self, is_given_up: GivenUp) -> Done:
        """Ask it for a checkpoint."""
        return self._asked("checkpoint", {}, is_given_up)

    def last_checkpoint(self, is_given_up: GivenUp) -> Done:
        """Ask it for a checkpoint: the last may be old."""
        return self.checkpoint(is_given_up)

    def change_stride(self, stride: int, is_given_up: GivenUp) -> Done:
        """Ask it for another stride."""
        return self._asked("change-stride", {"stride": stride}, is_given_up)

    def _asked(self, kind: str, arguments: Mapping[str, Any], is_given_up: GivenUp) -> Done:
        answer = ask(self._channel, kind, arguments, timeout=self._timeout, is_given_up=is_given_up)
        checkpoint = answer.facts.get("checkpoint")
        return Done(answer.message, None if checkpoint is None else str(checkpoint))


class BySignal:
    """A process that writes a checkpoint and ends when it is sent a signal, as GROMACS's mdrun at SIGTERM.

    Parameters
    ----------
    process : subprocess.Popen, int, Path or None
        The process that was started; or its number; or a file with that; or nothing, where nothing is to be stopped.
    checkpoint : Path, optional
        The checkpoint that it writes when it ends.
    signal : int
        The signal.
    timeout : float, optional
        For how long it may take to end, s; by default as long as it takes.
    """

    def __init__(
        self,
        process: "subprocess.Popen[bytes] | int | Path | None",
        checkpoint: Path | None = None,
        signal: int = signals.SIGTERM,
        timeout: float | None = None,
    ) -> None:
        self._process = process
        self._checkpoint = checkpoint
        self._signal = signals.Signals(signal)
        self._timeout = timeout

    def plan(self, kind: str) -> str:
        """Say what would be done."""
        return f"{kind}: send {self._signal.name} to {self._spoken()}"

    def stop(self, is_given_up: GivenUp) -> Done:
        """Send the signal, and wait for the end."""
        before = self._written_ns()
        with self._opened() as (number, handle):
            signals.pidfd_send_signal(handle, self._signal)
            self._await_end(number, handle, is_given_up)
        message = f"process {number} has ended after {self._signal.name}"
        if self._checkpoint is None:
            return Done(message)
        if self._written_ns() in (None, before):
            raise StreamError(f"{self._checkpoint}: {message}, and has not written this checkpoint")
        return Done(f"{message} with the checkpoint {self._checkpoint}", str(self._checkpoint))

    def checkpoint(self, is_given_up: GivenUp) -> Done:
        """Refuse: no signal does that."""
        raise UnsupportedError("an engine that is reached by signals writes checkpoints when it wants to")

    def last_checkpoint(self, is_given_up: GivenUp) -> Done:
        """Return the last that it has written."""
        if self._checkpoint is None:
            raise MismatchError("there is no checkpoint: name the engine's in [engine]")
        if not self._checkpoint.exists():
            raise FileNotFoundError(f"{self._checkpoint}: the engine has written no checkpoint yet")
        return Done(f"the last checkpoint is {self._checkpoint}", str(self._checkpoint))

    def change_stride(self, stride: int, is_given_up: GivenUp) -> Done:
        """Refuse: no signal does that."""
        raise UnsupportedError("an engine that is reached by signals cannot change its stride")

    def _spoken(self) -> str:
        if isinstance(self._process, subprocess.Popen):
            return f"process {self._process.pid}"
        return f"the process of {self._process}" if isinstance(self._process, Path) else f"process {self._process}"

    def _number(self) -> int:
        if self._process is None:
            raise MismatchError("there is no process to be stopped")
        if isinstance(self._process, subprocess.Popen):
            return self._process.pid
        if isinstance(self._process, int):
            return self._process
        text = self._process.read_text(encoding="utf-8", errors="replace").strip()
        if not text.isascii() or not text.isdecimal() or int(text) < 2:
            raise FormatError(f"{self._process}: expected the number of a process, got {text[:40]!r}")
        return int(text)

    @contextmanager
    def _opened(self) -> Iterator[tuple[int, int]]:
        """Give the number of the process and a handle, which stays its own when the number is another's."""
        number = self._number()
        if isinstance(self._process, subprocess.Popen) and self._process.poll() is not None:
            raise StreamError(f"process {number} had ended already")
        try:
            handle = os.pidfd_open(number)
        except ProcessLookupError:
            raise StreamError(f"there is no process {number} (any more)") from None
        try:
            yield number, handle
        finally:
            os.close(handle)

    def _await_end(self, number: int, handle: int, is_given_up: GivenUp) -> None:
        until = None if self._timeout is None else monotonic() + self._timeout
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        while not poll.poll(_LOOK_SECONDS * 1000):
            if until is not None and monotonic() >= until:
                raise StreamTimeoutError(f"process {number} has not ended within {self._timeout:g} s")
            if is_given_up():
                raise StreamError(f"process {number} was sent {self._signal.name}; nobody waits for its end any more")

    def _written_ns(self) -> int | None:
        if self._checkpoint is None:
            return None
        try:
            return self._checkpoint.stat().st_mtime_ns
        except FileNotFoundError:
            return None
