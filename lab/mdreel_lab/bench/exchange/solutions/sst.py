"""ADIOS2's SST engine: each frame is a step of a stream."""

from importlib.util import find_spec
from typing import Any, Self

from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import Regions
from mdreel_lab.bench.exchange.work import PATIENCE, Work

_SETTINGS = {"QueueLimit": "4", "QueueFullPolicy": "Block", "OpenTimeoutSecs": f"{PATIENCE:.0f}"}


def missing(work: Work) -> str:
    """Say what is not there."""
    del work
    return "" if find_spec("adios2") else "the package adios2 is not installed"


def _opened(work: Work, mode: str) -> tuple[Any, Any, Any]:
    import adios2
    from adios2 import bindings

    # What made the rest goes when nobody holds it.
    adios = adios2.Adios()
    stream = adios.declare_io("frames")
    stream.set_engine("SST")
    stream.set_parameters(_SETTINGS)
    return adios, stream, stream.open(str(work.folder / "frames"), getattr(bindings.Mode, mode))


class Sender:
    """Puts steps; the name of the stream is in a file that both see."""

    def __init__(self, work: Work) -> None:
        import numpy as np

        self._adios, stream, self._engine = _opened(work, "Write")
        shape = [work.molecule.frame_bytes]
        self._variable = stream.define_variable("frame", np.empty(shape, np.uint8), shape, [0], shape, True)

    def put(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Put one; where the queue is full, that is where it waits."""
        from adios2 import bindings

        del number
        with regions("write_single_buf"):
            self._engine.begin_step()
            self._engine.put(self._variable, frame.buffer, bindings.Mode.Sync)
            self._engine.end_step()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.close()


class Receiver:
    """Gets steps into memory of its own."""

    def __init__(self, work: Work) -> None:
        self._adios, self._stream, self._engine = _opened(work, "Read")

    def get(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Wait for one, and get it."""
        from adios2 import bindings

        del number
        with regions("fetch"):
            status = self._engine.begin_step(bindings.StepMode.Read, PATIENCE)
        if status != bindings.StepStatus.OK:
            raise RuntimeError(f"the stream of SST has ended: {status}")
        with regions("get_data"):
            self._engine.get(self._stream.inquire_variable("frame"), frame.buffer, bindings.Mode.Sync)
            self._engine.end_step()

    def done(self, regions: Regions) -> None:
        """Nobody waits for it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.close()
