"""Connections to an engine, which use requests in its channel or a signal to its process."""

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
from mdreel.live.channels.requests import send_request

_POLL_SECONDS = 0.1

IsCancelled = Callable[[], bool]
"""Function that is called repeatedly while waiting. It returns True to cancel the action."""


@dataclass(frozen=True)
class ActionResult:
    """Result of an action that an engine has carried out.

    Attributes
    ----------
    message : str
        Human-readable description.
    checkpoint : str or None
        Path of the checkpoint, if one was written.
    """

    message: str
    checkpoint: str | None = None


class EngineConnection(Protocol):
    """Connection to an engine. Unsupported actions raise `UnsupportedError`."""

    def plan(self, kind: str) -> str:
        """Describe an action without carrying it out."""

    def stop(self, is_cancelled: IsCancelled) -> ActionResult:
        """Stop the engine. The method returns after the engine has written a checkpoint."""

    def checkpoint(self, is_cancelled: IsCancelled) -> ActionResult:
        """Make the engine write a checkpoint and continue."""

    def last_checkpoint(self, is_cancelled: IsCancelled) -> ActionResult:
        """Return a checkpoint to fork from."""

    def change_stride(self, stride: int, is_cancelled: IsCancelled) -> ActionResult:
        """Change the number of steps between two published frames."""


class RequestControl:
    """Connection that sends requests, which the producer of a channel carries out between two frames.

    Parameters
    ----------
    channel : Path
        Directory of the channel.
    timeout : float, optional
        Maximum time to wait for an answer, in s. By default, there is no limit as long as the simulation is running.
    """

    def __init__(self, channel: Path, timeout: float | None = None) -> None:
        self._channel = channel
        self._timeout = timeout

    def plan(self, kind: str) -> str:
        """Describe an action without carrying it out."""
        return f"ask the simulation of channel {self._channel} to {kind}"

    def stop(self, is_cancelled: IsCancelled) -> ActionResult:
        """Ask the simulation to stop."""
        return self._request("stop", {}, is_cancelled)

    def checkpoint(self, is_cancelled: IsCancelled) -> ActionResult:
        """Ask the simulation to write a checkpoint."""
        return self._request("checkpoint", {}, is_cancelled)

    def last_checkpoint(self, is_cancelled: IsCancelled) -> ActionResult:
        """Ask the simulation for a new checkpoint, because the last checkpoint could be old."""
        return self.checkpoint(is_cancelled)

    def change_stride(self, stride: int, is_cancelled: IsCancelled) -> ActionResult:
        """Ask the simulation to change its stride."""
        return self._request("change-stride", {"stride": stride}, is_cancelled)

    def _request(self, kind: str, arguments: Mapping[str, Any], is_cancelled: IsCancelled) -> ActionResult:
        answer = send_request(self._channel, kind, arguments, timeout=self._timeout, is_cancelled=is_cancelled)
        checkpoint = answer.facts.get("checkpoint")
        return ActionResult(answer.message, None if checkpoint is None else str(checkpoint))


class SignalControl:
    """Connection for processes such as GROMACS's mdrun, which write a checkpoint and exit on a signal.

    Parameters
    ----------
    process : subprocess.Popen, int, Path or None
        The process, its process ID, or a file that contains the process ID. It can be None if no rule stops the
        process.
    checkpoint : Path, optional
        Checkpoint that the process writes before it exits.
    signal : int
        Number of the signal.
    timeout : float, optional
        Maximum time to wait until the process has exited, in s. By default, there is no limit.
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
        """Describe an action without carrying it out."""
        return f"{kind}: send {self._signal.name} to {self._describe_process()}"

    def stop(self, is_cancelled: IsCancelled) -> ActionResult:
        """Send the signal and wait until the process has exited."""
        before = self._checkpoint_time()
        with self._open_handle() as (number, handle):
            signals.pidfd_send_signal(handle, self._signal)
            self._await_end(number, handle, is_cancelled)
        message = f"process {number} ended after {self._signal.name}"
        if self._checkpoint is None:
            return ActionResult(message)
        if self._checkpoint_time() in (None, before):
            raise StreamError(f"{message} without writing this checkpoint", path=self._checkpoint)
        return ActionResult(f"{message} with the checkpoint {self._checkpoint}", str(self._checkpoint))

    def checkpoint(self, is_cancelled: IsCancelled) -> ActionResult:
        """Raise an error, because a checkpoint cannot be requested by a signal."""
        raise UnsupportedError("an engine that is controlled by signals cannot be asked for a checkpoint")

    def last_checkpoint(self, is_cancelled: IsCancelled) -> ActionResult:
        """Return the last checkpoint of the engine."""
        if self._checkpoint is None:
            raise MismatchError("the checkpoint of the engine is unknown; set checkpoint in [engine]")
        if not self._checkpoint.exists():
            raise FileNotFoundError(f"{self._checkpoint}: the engine has not written a checkpoint yet")
        return ActionResult(f"the last checkpoint is {self._checkpoint}", str(self._checkpoint))

    def change_stride(self, stride: int, is_cancelled: IsCancelled) -> ActionResult:
        """Raise an error, because the stride cannot be changed by a signal."""
        raise UnsupportedError("an engine that is controlled by signals cannot change its stride")

    def _describe_process(self) -> str:
        if isinstance(self._process, subprocess.Popen):
            return f"process {self._process.pid}"
        return f"the process of {self._process}" if isinstance(self._process, Path) else f"process {self._process}"

    def _process_id(self) -> int:
        if self._process is None:
            raise MismatchError("there is no process to stop; set the process of the engine in [engine]")
        if isinstance(self._process, subprocess.Popen):
            return self._process.pid
        if isinstance(self._process, int):
            return self._process
        text = self._process.read_text(encoding="utf-8", errors="replace").strip()
        if not text.isascii() or not text.isdecimal() or int(text) < 2:
            raise FormatError(f"{self._process}: expected a process ID, got {text[:40]!r}")
        return int(text)

    @contextmanager
    def _open_handle(self) -> Iterator[tuple[int, int]]:
        """Yield the process ID and a handle that remains valid even if the ID is reused."""
        number = self._process_id()
        if isinstance(self._process, subprocess.Popen) and self._process.poll() is not None:
            raise StreamError(f"process {number} has already ended")
        try:
            handle = os.pidfd_open(number)
        except ProcessLookupError:
            raise StreamError(f"process {number} does not exist (any more)") from None
        try:
            yield number, handle
        finally:
            os.close(handle)

    def _await_end(self, number: int, handle: int, is_cancelled: IsCancelled) -> None:
        until = None if self._timeout is None else monotonic() + self._timeout
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        while not poll.poll(_POLL_SECONDS * 1000):
            if until is not None and monotonic() >= until:
                raise StreamTimeoutError(f"process {number} did not end within {self._timeout:g} s")
            if is_cancelled():
                raise StreamError(f"process {number} was sent {self._signal.name}; the wait for its end was cancelled")

    def _checkpoint_time(self) -> int | None:
        if self._checkpoint is None:
            return None
        try:
            return self._checkpoint.stat().st_mtime_ns
        except FileNotFoundError:
            return None
