"""A program for ranks, which read different numbers of ranges through MPI-IO and count the calls of the library.

For one rank, if any, the files are at no path.
"""

import json
import sys
from pathlib import Path
from typing import Any

from mpi4py import MPI

from mdreel.execution.executors.mpi import mpiio_files
from mdreel.execution.executors.mpi.mpiio_files import CollectiveFiles, IndependentFiles

N_CALLS: dict[str, dict[str, int]] = {}


class CountingFile:
    """A file of MPI-IO, which counts how often each method reads it."""

    def __init__(self, file: Any, name: str) -> None:
        self._file = file
        self._calls = N_CALLS.setdefault(name, {})

    @classmethod
    def open(cls, communicator: Any, path: str, mode: int) -> "CountingFile":
        return cls(_OPEN(communicator, path, mode), Path(path).name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("Read"):
            self._calls[name] = self._calls.get(name, 0) + 1
        return getattr(self._file, name)


class _Opener:
    Open = CountingFile.open


_OPEN = MPI.File.Open


def main() -> None:
    folder, paths, kind, plans = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
    ranks = MPI.COMM_WORLD
    MPI.File = _Opener  # type: ignore[assignment, misc]
    mpiio_files.AT_ONCE = 1000
    found: list[str] = []
    if ranks.rank == int(sys.argv[5]):
        paths = [f"{path}.none" for path in paths]
    files = CollectiveFiles(paths, ranks) if kind == "collective" else IndependentFiles(paths)
    for file, ranges in plans[ranks.rank]:
        try:
            found.append(bytes(files.read(file, [(start, end) for start, end in ranges])).hex())
        except OSError as error:
            found.append(f"{type(error).__name__}: {error}")
    files.join()
    files.join()  # without effect: all ranks have ended
    files.close()
    (folder / f"{kind}.{ranks.rank}.json").write_text(json.dumps({"found": found, "calls": N_CALLS}))


if __name__ == "__main__":
    main()
