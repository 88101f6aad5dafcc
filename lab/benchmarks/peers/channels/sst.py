"""ADIOS2's SST engine: each frame is a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import adios2
import numpy as np
from adios2 import bindings

from peers.channels.work import TIME_LIMIT, Work


def _open(work: Work, mode: Any) -> tuple[Any, Any]:
    io = adios2.Adios().declare_io("frames")
    io.set_engine("SST")
    settings = {"QueueLimit": "4", "QueueFullPolicy": "Block", "OpenTimeoutSecs": str(int(TIME_LIMIT))}
    io.set_parameters(settings)
    return io, io.open(str(Path(work.place) / "frames"), mode)


class Producer:
    """Puts steps; the name of the stream is in a file that both see."""

    def __init__(self, work: Work) -> None:
        self.io, self.engine = _open(work, bindings.Mode.Write)
        shape = [work.n_bytes]
        self.variable = self.io.define_variable("frame", np.empty(work.n_bytes, np.uint8), shape, [0], shape, True)

    def publish(self, number: int, frame: np.ndarray) -> None:
        """Put one."""
        self.engine.begin_step()
        self.engine.put(self.variable, frame, bindings.Mode.Sync)
        self.engine.end_step()

    def close(self) -> None:
        """End the stream."""
        self.engine.close()


class Consumer:
    """Gets steps into an array that is used again."""

    def __init__(self, work: Work) -> None:
        self.io, self.engine = _open(work, bindings.Mode.Read)
        self.frame = np.empty(work.n_bytes, np.uint8)

    def take(self) -> list[Any]:
        """Get the next."""
        if self.engine.begin_step(bindings.StepMode.Read, TIME_LIMIT) != bindings.StepStatus.OK:
            raise EOFError("the stream has ended")
        self.engine.get(self.io.inquire_variable("frame"), self.frame, bindings.Mode.Sync)
        self.engine.end_step()
        return [self.frame]

    def close(self) -> None:
        """Leave."""
        self.engine.close()
