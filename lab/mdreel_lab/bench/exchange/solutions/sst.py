"""ADIOS2's SST engine: each frame is a step of a stream."""

from typing import Any

import numpy as np

from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.solutions.side import Side
from mdreel_lab.bench.exchange.work import PATIENCE

_SETTINGS = {"QueueLimit": "4", "QueueFullPolicy": "Block", "OpenTimeoutSecs": f"{PATIENCE:.0f}"}


class _Engine(Side):
    packages = ("adios2",)

    def connect(self, mode: str) -> None:
        """Open the stream, whose name is in a file that both sides see."""
        import adios2
        from adios2 import bindings

        self._bindings: Any = bindings
        self._adios: Any = adios2.Adios()  # keeps the object alive that owns the stream
        self._stream: Any = self._adios.declare_io("frames")
        self._stream.set_engine("SST")
        self._stream.set_parameters(_SETTINGS)
        self._engine: Any = self._stream.open(str(self.work.folder / "frames"), getattr(bindings.Mode, mode))
        self.callback(self._engine.close)


class Sender(_Engine):
    """Puts steps."""

    def open(self) -> None:
        """Define the variable."""
        self.connect("Write")
        shape = [self.work.molecule.frame_bytes]
        self._variable = self._stream.define_variable("frame", np.empty(shape, np.uint8), shape, [0], shape, True)

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Put one; this waits where the queue is full."""
        with self.regions("write_single_buf"):
            self._engine.begin_step()
            self._engine.put(self._variable, frame.buffer, self._bindings.Mode.Sync)
            self._engine.end_step()


class Receiver(_Engine):
    """Gets steps into memory of its own."""

    def open(self) -> None:
        """Wait for the stream."""
        self.connect("Read")

    def get(self, number: int, frame: SerialisedFrame) -> None:
        """Wait for one, and get it."""
        with self.regions("fetch"):
            status = self._engine.begin_step(self._bindings.StepMode.Read, PATIENCE)
        if status != self._bindings.StepStatus.OK:
            raise RuntimeError(f"the stream of SST has ended: {status}")
        with self.regions("get_data"):
            self._engine.get(self._stream.inquire_variable("frame"), frame.buffer, self._bindings.Mode.Sync)
            self._engine.end_step()
