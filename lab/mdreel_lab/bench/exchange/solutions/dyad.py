"""DYAD, if it is installed: files in a managed path, which its service waits for and fetches."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.solutions.side import Side
from mdreel_lab.bench.exchange.work import Work

_PRODUCED, _CONSUMED = "DYAD_PATH_PRODUCER", "DYAD_PATH_CONSUMER"


class _Service(Side):
    def open(self) -> None:
        """Connect to the service."""
        from pydyad import Dyad

        self._service: Any = Dyad()
        self._service.init_env()
        self.callback(self._service.finalize)

    def _path(self, variable: str, number: int) -> Path:
        folder = Path(os.environ[variable], self.work.folder.parent.name, self.work.folder.name)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{number}.frame"


class Sender(_Service):
    """Writes a file for each frame, and publishes it through DYAD."""

    @classmethod
    def missing(cls, work: Work) -> str:
        """Return a message about missing software or settings, or an empty text."""
        absent = [name for name in ("flux", "pydyad") if find_spec(name) is None]
        if absent:
            return f"DYAD is not installed: there is no Python package {absent[0]}"
        unsaid = [name for name in (_PRODUCED, _CONSUMED) if name not in os.environ]
        return f"DYAD's service is not set up: {unsaid[0]} is not set" if unsaid else ""

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Write one."""
        path = self._path(_PRODUCED, number)
        with self.regions("write_single_buf"):
            with path.open("wb", buffering=0) as file:
                frame.write_to(file)
            self._service.produce(str(path))


class Receiver(_Service):
    """Waits for the files through DYAD, which fetches them, and reads them."""

    def get(self, number: int, frame: SerialisedFrame) -> None:
        """Wait for one, and read it; the call of DYAD is one region, of waiting and fetching."""
        path = self._path(_CONSUMED, number)
        with self.regions("fetch"):
            self._service.consume(str(path))
        with self.regions("read_single_buf"), path.open("rb", buffering=0) as file:
            frame.read_from(file)
