"""Replay of a recorded session of DYAD: the same calls, steps and times, with files that are copied from here to there.

The environment variable ``RECORDED_SESSION`` names the session: two nodes, or one node.
"""

import ctypes
import json
import os
import shutil
import time
from functools import partial
from pathlib import Path
from typing import Any

_RECORDED = json.loads((Path(__file__).parents[1] / "session.json").read_text())
_PATIENCE = 30.0
_Function = ctypes.CFUNCTYPE(ctypes.c_int)
_Signatures = {
    "rpc_pack": ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_uint32, ctypes.c_void_p),
    "close_connection": ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p),
}


class _Context(ctypes.Structure):
    _fields_ = (("h", ctypes.c_void_p), ("dtl_handle", ctypes.c_void_p))


class Dyad:
    """A client of the recorded service."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def init_env(self) -> None:
        """Read the environment, and lay out the table of transport functions as it was recorded."""
        for name in _RECORDED["environment"]:
            assert name in os.environ
        self._session: dict[str, list[Any]] = {key: list(of) for key, of in self._recorded().items()}
        layout = _RECORDED["transport"]
        self._table = ctypes.create_string_buffer(256)
        ctypes.c_int.from_buffer(self._table, layout["mode_offset"]).value = layout["mode"]
        self._kept = []
        for place, name in enumerate(layout["functions"]):
            kind = _Signatures.get(name, _Function)
            self._kept.append(kind(partial(self._note, name)))
            self._slot(place).value = ctypes.cast(self._kept[-1], ctypes.c_void_p).value
        self.ctx = ctypes.pointer(_Context(None, ctypes.addressof(self._table)))

    def produce(self, path: str) -> None:
        """Publish a file."""
        expected, seconds = self._session["produce"].pop(0)
        assert Path(path) == self._folder("DYAD_PATH_PRODUCER", path) / expected
        assert Path(path).stat().st_size > 0
        time.sleep(seconds)
        Path(f"{path}.published").touch()

    def consume(self, path: str) -> None:
        """Wait for a file, and fetch it by the recorded steps."""
        expected, steps, _ = self._session["consume"].pop(0)
        folder = self._folder("DYAD_PATH_CONSUMER", path)
        assert Path(path) == folder / expected
        there = Path(os.environ["DYAD_PATH_PRODUCER"], *folder.relative_to(os.environ["DYAD_PATH_CONSUMER"]).parts)
        until = time.monotonic() + _PATIENCE
        while not (there / f"{expected}.published").exists():
            assert time.monotonic() < until, "the file was never published"
            time.sleep(0.001)
        for before, (name, at) in zip([steps[0], *steps] if steps else [], steps, strict=False):
            time.sleep(at - before[1])
            self._call(name)
        if steps:
            shutil.copyfile(there / expected, path)

    def finalize(self) -> None:
        """Close the connection; all recorded calls of one side have been made."""
        assert not all(self._session.values())

    def _note(self, name: str, *_: object) -> int:
        self.called.append(name)
        return 0

    def _recorded(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = _RECORDED[os.environ["RECORDED_SESSION"]]
        return found

    def _slot(self, place: int) -> ctypes.c_void_p:
        offset = _RECORDED["transport"]["functions_offset"]
        return ctypes.c_void_p.from_buffer(self._table, offset + place * ctypes.sizeof(ctypes.c_void_p))

    def _call(self, name: str) -> None:
        kind = _Signatures.get(name, _Function)
        address = self._slot(_RECORDED["transport"]["functions"].index(name)).value
        assert address is not None
        function = kind(address)
        assert function(*[0] * len(kind._argtypes_)) == 0

    def _folder(self, variable: str, path: str) -> Path:
        """Return the folder of a pair in a managed directory: the name of the run."""
        managed = Path(os.environ[variable])
        return managed / Path(path).relative_to(managed).parts[0]
