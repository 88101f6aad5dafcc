"""DYAD, if it is installed: files in a managed directory, which its service waits for and fetches."""

import ctypes
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from mdreel.errors import UnsupportedError
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.solutions.side import Side
from mdreel_lab.bench.exchange.work import Work
from mdreel_lab.bench.rigs.dyad import CONSUMED, PRODUCED, why_there_is_none


class _Service(Side):
    variable: str

    def open(self) -> None:
        """Connect to the service."""
        from pydyad.bindings import Dyad

        self._folder = Path(os.environ[self.variable], self.work.folder.parent.name, self.work.folder.name)
        self._folder.mkdir(parents=True, exist_ok=True)
        self.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self._service: Any = Dyad()
        self._service.init_env()
        self.callback(self._service.finalize)

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.frame"


class Sender(_Service):
    """Writes a file for each frame, and publishes it through DYAD."""

    variable = PRODUCED

    @classmethod
    def missing(cls, work: Work) -> str:
        """Return a message about missing software or settings, or an empty text."""
        del work
        return why_there_is_none() or ""

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Write a frame under another name, rename the file, and publish it.

        DYAD takes a file of more than 0 bytes for a complete file, unless the writer has locked it. With such a lock,
        version 0.2 waits forever if the consumer comes first, because the consumer holds the lock during its lookup.
        """
        path = self._path(number)
        with self.regions("write_single_buf"):
            part = path.with_suffix(".part")
            with part.open("wb", buffering=0) as file:
                frame.write_to(file)
            part.rename(path)
            self._service.produce(str(path))


class Receiver(_Service):
    """Waits for the files through DYAD, which fetches them, and reads them."""

    variable = CONSUMED

    def open(self) -> None:
        """Connect to the service, and observe the steps of its transport."""
        super().open()
        self._steps = TransportSteps(self._service.ctx.contents.dtl_handle)

    def get(self, number: int, frame: SerialisedFrame) -> None:
        """Wait for a frame, and read it.

        DYAD's call has three regions. The lookup, with its wait for the producer, ends when DYAD asks the broker of
        the producer for the file. The transfer ends when DYAD closes the connection. Then DYAD stores the file. If the
        file is on this node, the lookup is the whole call.
        """
        self._number, path = number, self._path(number)
        self._steps.reset()
        start = perf_counter_ns()
        self._service.consume(str(path))
        stop = perf_counter_ns()
        asked = self._steps.asked or stop
        received = self._steps.received or stop
        self.regions.add("fetch", (asked - start) * 1e-9)
        self.regions.add("get_data", (received - asked) * 1e-9)
        self.regions.add("cons_store", (stop - received) * 1e-9)
        with self.regions("read_single_buf"), path.open("rb", buffering=0) as file:
            frame.read_from(file)

    def done(self) -> None:
        """Remove the file, because DYAD keeps all files."""
        self._path(self._number).unlink()


_MODES = range(3)
"""UCX, Margo and the RPC of Flux."""


class _Transport(ctypes.Structure):
    """DYAD's table of the functions of a transport, as version 0.2 declares it in ``dyad_dtl_api.h``."""

    _fields_ = (
        ("private", ctypes.c_void_p * 2),  # a pointer, aligned to 16 bytes
        ("mode", ctypes.c_int),
        *(
            (name, ctypes.c_void_p)
            for name in (
                "rpc_pack",
                "rpc_unpack",
                "rpc_respond",
                "rpc_recv_response",
                "get_buffer",
                "return_buffer",
                "establish_connection",
                "send",
                "recv",
                "close_connection",
            )
        ),
    )


class TransportSteps:
    """Times of the steps by which DYAD fetches a file, ns on the performance counter; 0 for steps not taken.

    Two functions in the transport's table are replaced by functions that note the time and call them.

    Attributes
    ----------
    asked : int
        Time at which DYAD packed its request for the file.
    received : int
        Time at which DYAD had the contents, and closed the connection.
    """

    def __init__(self, handle: Any) -> None:
        if not handle:
            raise UnsupportedError("DYAD has no transport: DYAD_DTL_MODE names one")
        self._table = ctypes.cast(handle, ctypes.POINTER(_Transport)).contents
        if self._table.mode not in _MODES:
            raise UnsupportedError("DYAD declares its transports differently from version 0.2")
        pack = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_uint32, ctypes.c_void_p)
        close = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
        self._kept = (
            self._observe("rpc_pack", pack, self._note_request),
            self._observe("close_connection", close, self._note_contents),
        )
        self.reset()

    def reset(self) -> None:
        """Forget the times of the last file."""
        self.asked = self.received = 0

    def _observe(self, name: str, kind: Any, note: Callable[[], None]) -> object:
        """Replace a function of the table; return the function in its place, which must live as long as the table."""
        original = kind(getattr(self._table, name))

        def noting(*arguments: Any) -> int:
            note()
            return int(original(*arguments))

        replacement = kind(noting)
        setattr(self._table, name, ctypes.cast(replacement, ctypes.c_void_p))
        return replacement

    def _note_request(self) -> None:
        self.asked = perf_counter_ns()

    def _note_contents(self) -> None:
        self.received = perf_counter_ns()
