"""A process of a pair that meets a fault: ``python -m mdreel_lab.bench.exchange.fault_process ROLE WAY``.

The first line of its standard input is its work. Each further line is an order, ``put N`` or ``get N``. The process
answers each order with lines of JSON: the begin of the call, and then its end.
"""

import json
import sys
import time
from typing import Any

from mdreel.errors import MdreelError
from mdreel_lab.bench.exchange.catalogue import DYAD, LOCAL, RING, STAGED
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import PRODUCE, NoRegions
from mdreel_lab.bench.exchange.solutions import dyad, files
from mdreel_lab.bench.exchange.solutions.side import Side
from mdreel_lab.bench.exchange.solutions.ways import WAYS
from mdreel_lab.bench.exchange.work import Work

IN_PLACE, DYAD_IN_PLACE = "files-in-place", "dyad-in-place"
"""Files that are written under their final names, without DYAD and with it."""

READY, BEGIN, DONE, PARTIAL, ERROR = "ready", "begin", "done", "partial", "error"
"""Keys of answers; `PARTIAL` is a frame that was received incompletely, and `ERROR` any other error."""

_LAST = 1_000
"""The last number of a frame. From a channel, a new consumer receives any frame that the ring still has."""


class _InPlaceSender(files.Sender):
    """Writes files under their final names, without a barrier."""

    def open(self) -> None:
        """Do nothing: there is no barrier."""

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Write a file in place."""
        with (self.work.folder / f"{number}.frame").open("wb", buffering=0) as file:
            frame.write_to(file)


class _DyadInPlaceSender(dyad.Sender):
    """Writes files under their final names, and publishes them through DYAD after closing them, as its wrapper does."""

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Write a file in place, and publish it."""
        path = self._path(number)
        with path.open("wb", buffering=0) as file:
            frame.write_to(file)
        self._service.produce(str(path))


SIDES: dict[str, tuple[type[Side], type[Side]]] = {
    **{name: WAYS[name] for name in (RING, STAGED, DYAD)},
    DYAD_IN_PLACE: (_DyadInPlaceSender, dyad.Receiver),
    IN_PLACE: (_InPlaceSender, WAYS[LOCAL][1]),
}
"""Both sides of each way."""


def main() -> None:
    """Follow the orders until the input ends."""
    role, way = sys.argv[1:]
    work = Work.of_json(sys.stdin.readline())
    frame = SerialisedFrame(work.molecule, seed=1)
    try:
        with SIDES[way][0 if role == PRODUCE else 1](work, NoRegions()) as side:
            _answer(READY, way)
            for line in sys.stdin:
                order, number = line.split()
                _answer(BEGIN, int(number))
                began = time.perf_counter()
                key, value = (_put if order == "put" else _get)(side, int(number), frame)
                _answer(key, value, time.perf_counter() - began)
                if order == "get" and key == DONE:
                    side.done()  # after the answer: a frame that has been removed was received
    except (MdreelError, OSError, RuntimeError) as error:
        _answer(ERROR, str(error))


def _put(side: Side, number: int, frame: SerialisedFrame) -> tuple[str, Any]:
    frame.mark(number + 1)  # no frame is marked with 0, as empty bytes are
    try:
        side.put(number, frame)
    except (MdreelError, OSError, RuntimeError) as error:
        return ERROR, str(error)
    return DONE, number


def _get(side: Side, number: int, frame: SerialisedFrame) -> tuple[str, Any]:
    try:
        side.get(number, frame)
    except (MdreelError, OSError, RuntimeError) as error:
        # Only a file that was read with another length raises such a message; see `SerialisedFrame.read_from`.
        return (PARTIAL if "more or fewer" in str(error) else ERROR), str(error)
    try:
        found = frame.check(number + 1, *range(1, _LAST)) - 1
    except RuntimeError as error:
        return PARTIAL, str(error)
    return DONE, found


def _answer(key: str, value: Any, seconds: float = 0.0) -> None:
    print(json.dumps({"key": key, "value": value, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
