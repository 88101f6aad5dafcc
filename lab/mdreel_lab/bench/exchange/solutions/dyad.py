"""DYAD itself, where it is installed: files in a managed path, waited for and fetched by its service."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import Regions
from mdreel_lab.bench.exchange.work import Work

_PRODUCED, _CONSUMED = "DYAD_PATH_PRODUCER", "DYAD_PATH_CONSUMER"


def missing(work: Work) -> str:
    """Say what is not there."""
    del work
    absent = [name for name in ("flux", "pydyad") if find_spec(name) is None]
    if absent:
        return f"DYAD is not installed: there is no Python package {absent[0]}"
    unsaid = [name for name in (_PRODUCED, _CONSUMED) if name not in os.environ]
    return f"DYAD's service is not set up: {unsaid[0]} is not set" if unsaid else ""


def _service() -> Any:
    from pydyad import Dyad

    service = Dyad()
    service.init_env()
    return service


def _path(work: Work, variable: str, number: int) -> Path:
    folder = Path(os.environ[variable], work.folder.parent.name, work.folder.name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{number}.frame"


class Sender:
    """Writes a file for each frame, and has DYAD publish it."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._service = _service()

    def put(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Write one."""
        path = _path(self._work, _PRODUCED, number)
        with regions("write_single_buf"):
            with path.open("wb", buffering=0) as file:
                frame.write_to(file)
            self._service.produce(str(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._service.finalize()


class Receiver:
    """Has DYAD wait for the files and fetch them, and reads them."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._service = _service()

    def get(self, number: int, frame: SerialisedFrame, regions: Regions) -> None:
        """Wait for one, and read it; what DYAD does within its call is one region here, of waiting and fetching."""
        path = _path(self._work, _CONSUMED, number)
        with regions("fetch"):
            self._service.consume(str(path))
        with regions("read_single_buf"), path.open("rb", buffering=0) as file:
            frame.read_from(file)

    def done(self, regions: Regions) -> None:
        """Nobody waits for it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._service.finalize()
