"""Checkpoints and requests that engine reporters carry out between frames."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from mdreel.errors import MismatchError
from mdreel.foundation.atomic_files import give_name
from mdreel.foundation.untrusted_input import shown
from mdreel.live.channels.requests import Request
from mdreel.live.producers.producer import Producer

_MOST_STRIDE = 2**31 - 1
"""Engines count the steps of a run with 32 bits."""

Write: TypeAlias = Callable[[Path], None]
"""Has the engine write its state to a file; an `OSError` if that cannot be done."""


class Obeying:
    """Keeps checkpoints, and does what a simulation is asked: ``stop``, ``checkpoint``, ``change-stride``.

    Parameters
    ----------
    producer : Producer
        The channel.
    engine : str
        What it is called in refusals.
    interval : int
        Steps between two frames.
    checkpoint : path
        Where the state is kept at a stop, and now and then. It appears whole, in place of the one before.
    checkpoint_frames : int, optional
        After how many frames it is kept; by default at a stop only.

    Attributes
    ----------
    interval : int
        Steps between two frames, now.
    is_stopped : bool
        Whether the simulation was stopped on request.

    Raises
    ------
    MismatchError
        If an argument makes no sense.
    """

    def __init__(
        self,
        producer: Producer,
        engine: str,
        interval: int,
        checkpoint: str | PathLike[str],
        checkpoint_frames: int | None,
    ) -> None:
        if interval < 1:
            raise MismatchError(f"{producer.path}: expected 1 step or more between two frames, got {interval}")
        if checkpoint_frames is not None and checkpoint_frames < 1:
            message = f"expected 1 frame or more between two checkpoints, got {checkpoint_frames}"
            raise MismatchError(f"{producer.path}: {message}")
        self.interval = int(interval)
        self.is_stopped = False
        self._producer = producer
        self._engine = engine
        self._checkpoint = Path(checkpoint).absolute()
        self._checkpoint_frames = checkpoint_frames
        self._n_frames = 0

    def look(self, step: int, write: Write) -> bool:
        """Do what is due behind a frame, and what was asked since the one before.

        Parameters
        ----------
        step : int
            The step of the frame.
        write : callable
            Has the engine write its state to a file.

        Returns
        -------
        bool
            Whether the simulation is to stop now: its checkpoint has been written, and the channel has ended.
        """
        self._n_frames += 1
        if self._checkpoint_frames is not None and self._n_frames % self._checkpoint_frames == 0:
            _keep(self._checkpoint, write)
        requests = self._producer.requests()
        for request in requests:
            if request.kind != "stop":
                self._do(request, step, write)
        stops = [request for request in requests if request.kind == "stop"]
        if stops:
            self._stop(stops, step, write)
        return self.is_stopped

    def _stop(self, requests: list[Request], step: int, write: Write) -> None:
        try:
            _keep(self._checkpoint, write)
        except Exception as error:  # noqa: BLE001 - it goes on: neither a full disk nor a request is a reason to end
            for request in requests:
                request.refuse(f"no checkpoint could be written: {error}")
            return
        self.is_stopped = True
        for request in requests:
            message = f"stopped at step {step} with the checkpoint {self._checkpoint}"
            request.answer(message, checkpoint=str(self._checkpoint), step=step)
        self._producer.end("stopped")

    def _do(self, request: Request, step: int, write: Write) -> None:
        if request.kind == "checkpoint":
            path = self._checkpoint.with_name(f"{self._checkpoint.stem}-{step}{self._checkpoint.suffix}")
            try:
                _keep(path, write)
            except Exception as error:  # noqa: BLE001 - see `_stop`
                request.refuse(f"no checkpoint could be written: {error}")
            else:
                request.answer(f"checkpoint of step {step}: {path}", checkpoint=str(path), step=step)
        elif request.kind == "change-stride":
            stride = request.arguments.get("stride")
            if type(stride) is not int or stride < 1:
                request.refuse(f"expected a stride of 1 step or more, got {shown(stride)}")
                return
            if stride > _MOST_STRIDE:
                request.refuse(f"expected a stride of at most {_MOST_STRIDE:,} steps, got {stride:,}")
                return
            before, self.interval = self.interval, stride
            request.answer(f"from step {step} on a frame every {stride} steps, not {before}", step=step)
        else:
            request.refuse(f"{self._engine}'s reporter knows stop, checkpoint and change-stride, not {request.kind!r}")


def _keep(path: Path, write: Write) -> None:
    """Write a checkpoint that appears whole, and outlives the machine."""
    new = path.with_name(f".{path.name}.new")
    try:
        write(new)
        give_name(new, path)
    finally:
        new.unlink(missing_ok=True)
