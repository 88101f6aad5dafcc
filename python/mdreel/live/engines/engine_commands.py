"""Checkpoints and requests that the reporters of all engines handle after each frame."""

import warnings
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from time import sleep
from typing import TypeAlias

from mdreel.errors import MdreelWarning, MismatchError
from mdreel.foundation.atomic_files import give_name
from mdreel.foundation.stack_level import caller_level
from mdreel.foundation.untrusted_input import shown
from mdreel.live.channels.requests import Request
from mdreel.live.producers.producer import Producer

_MOST_STRIDE = 2**31 - 1
"""Maximum stride, which is limited because engines count the steps of a run with 32 bits."""

_PAUSE_SECONDS = 0.05
"""Interval between two looks for requests during a pause, in s."""

Write: TypeAlias = Callable[[Path], None]
"""Function that makes the engine write its state to a file. It raises `OSError` on failure."""


class EngineReporter:
    """Base class with the attributes that the reporters of all engines have in common."""

    _commands: "EngineCommands"

    @property
    def interval(self) -> int:
        """Current number of steps between two frames."""
        return self._commands.interval

    @property
    def is_stopped(self) -> bool:
        """Whether the simulation was stopped by a request."""
        return self._commands.is_stopped


class EngineCommands:
    """Writes periodic checkpoints of an engine, and handles requests.

    The requests are ``stop``, ``checkpoint``, ``change-stride``, ``pause`` and ``resume``. During a pause, the engine
    computes no steps, and other requests are still carried out.

    Parameters
    ----------
    producer : Producer
        The channel.
    engine : str
        Name of the engine, which is used in the message if a request is refused.
    interval : int
        Number of steps between two frames.
    checkpoint : path, optional
        Checkpoint file, which is written when the simulation stops, and optionally at intervals. Each checkpoint
        replaces the previous checkpoint atomically. Without a checkpoint file, you cannot continue the simulation after
        a stop.
    checkpoint_frames : int, optional
        Number of frames between two checkpoints. By default, a checkpoint is written only when the simulation stops.

    Attributes
    ----------
    interval : int
        Current number of steps between two frames.
    is_stopped : bool
        Whether the simulation was stopped by a request.
    is_paused : bool
        Whether the simulation waits for a request to resume.

    Raises
    ------
    MismatchError
        If an argument is invalid.
    """

    def __init__(
        self,
        producer: Producer,
        engine: str,
        interval: int,
        checkpoint: str | PathLike[str] | None,
        checkpoint_frames: int | None,
    ) -> None:
        if interval < 1:
            raise MismatchError(f"expected 1 step or more between two frames, got {interval}", path=producer.path)
        if checkpoint_frames is not None and checkpoint_frames < 1:
            message = f"expected 1 frame or more between two checkpoints, got {checkpoint_frames}"
            raise MismatchError(message, path=producer.path)
        if checkpoint_frames is not None and checkpoint is None:
            message = f"checkpoint_frames={checkpoint_frames} needs a checkpoint file: give checkpoint="
            raise MismatchError(message, path=producer.path)
        self.interval = int(interval)
        self.is_stopped = False
        self.is_paused = False
        self._producer = producer
        self._engine = engine
        self._checkpoint = None if checkpoint is None else Path(checkpoint).absolute()
        self._checkpoint_frames = checkpoint_frames
        self._n_frames = 0
        self._last_frame: int | None = None

    def handle_requests(self, step: int, write: Write) -> bool:
        """Write a checkpoint if it is due, and carry out the requests received since the previous frame.

        Parameters
        ----------
        step : int
            Step of the frame.
        write : callable
            Function that makes the engine write its state to a file.

        Returns
        -------
        bool
            Whether the simulation has to stop now. In this case, its checkpoint has been written and the channel has
            ended.
        """
        self._n_frames += 1
        self._last_frame = step
        is_due = self._checkpoint_frames is not None and self._n_frames % self._checkpoint_frames == 0
        if self._checkpoint is not None and is_due:
            _write_checkpoint(self._checkpoint, write)
        while True:
            requests = self._producer.requests()
            for request in requests:
                if request.kind != "stop":
                    self._handle(request, step, write)
            stops = [request for request in requests if request.kind == "stop"]
            if stops:
                self._stop(stops, step, write)
            if self.is_stopped or not self.is_paused:
                return self.is_stopped
            sleep(_PAUSE_SECONDS)

    def is_frame_missing(self, step: int, first: int) -> bool:
        """Return whether the frame of a step has not been published, although it is due.

        Parameters
        ----------
        step : int
            Current step.
        first : int
            First step of the run, for which no frame is due.
        """
        return step > first and step % self.interval == 0 and step != self._last_frame

    def checkpoint_at_end(self, step: int, write: Write) -> None:
        """Write a final checkpoint before SIGTERM or Ctrl-C ends the program.

        Parameters
        ----------
        step : int
            Current step. If a frame was due at this step, it has already been published.
        write : callable
            Function that makes the engine write its state to a file.

        Warns
        -----
        MdreelWarning
            If the checkpoint cannot be written. The program ends nevertheless.
        """
        if self._checkpoint is None or self.is_stopped:
            return
        try:
            _write_checkpoint(self._checkpoint, write)
        except Exception as error:  # noqa: BLE001 - a failed checkpoint must not hide the reason of the end
            message = f"the checkpoint of step {step} could not be written: {error}"
            warnings.warn(message, MdreelWarning, stacklevel=caller_level())

    def _stop(self, requests: list[Request], step: int, write: Write) -> None:
        facts: dict[str, object] = {"step": step}
        message = f"stopped at step {step} without a checkpoint, because the reporter has no checkpoint file"
        if self._checkpoint is not None:
            try:
                _write_checkpoint(self._checkpoint, write)
            except Exception as error:  # noqa: BLE001 - a failed checkpoint must not end the simulation
                for request in requests:
                    request.refuse(f"the checkpoint could not be written: {error}")
                return
            facts["checkpoint"] = str(self._checkpoint)
            message = f"stopped at step {step} with the checkpoint {self._checkpoint}"
        self.is_stopped = True
        for request in requests:
            request.answer(message, **facts)
        self._producer.end("stopped")

    def _handle(self, request: Request, step: int, write: Write) -> None:
        if request.kind == "checkpoint":
            if self._checkpoint is None:
                request.refuse(f"the reporter of {self._engine} has no checkpoint file: create it with checkpoint=")
                return
            path = self._checkpoint.with_name(f"{self._checkpoint.stem}-{step}{self._checkpoint.suffix}")
            try:
                _write_checkpoint(path, write)
            except Exception as error:  # noqa: BLE001 - see `_stop`
                request.refuse(f"the checkpoint could not be written: {error}")
            else:
                request.answer(f"checkpoint of step {step}: {path}", checkpoint=str(path), step=step)
        elif request.kind in ("pause", "resume"):
            before, self.is_paused = self.is_paused, request.kind == "pause"
            state = "paused" if self.is_paused else "running"
            request.answer(f"{'already ' * (before == self.is_paused)}{state} at step {step}", step=step)
        elif request.kind == "change-stride":
            stride = request.arguments.get("stride")
            if type(stride) is not int or stride < 1:
                request.refuse(f"expected a stride of 1 step or more, got {shown(stride)}")
                return
            if stride > _MOST_STRIDE:
                request.refuse(f"expected a stride of at most {_MOST_STRIDE:,} steps, got {stride:,}")
                return
            former, self.interval = self.interval, stride
            request.answer(f"from step {step}, a frame every {stride} steps instead of {former}", step=step)
        else:
            known = "stop, checkpoint, change-stride, pause and resume"
            request.refuse(f"the reporter of {self._engine} supports {known}, not {request.kind!r}")


def _write_checkpoint(path: Path, write: Write) -> None:
    """Write a checkpoint atomically and durably."""
    new = path.with_name(f".{path.name}.new")
    try:
        write(new)
        give_name(new, path)
    finally:
        new.unlink(missing_ok=True)
