"""In which order a program writes, syncs, renames and removes files: the calls that it makes of the C library."""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "faults" / "watching.c"
OPENS = Path(__file__).parent / "faults" / "opening.c"


@dataclass(frozen=True)
class Call:
    """A call of a thread: write, sync, rename or unlink, of which file, and what that was renamed to."""

    thread: int
    what: str
    path: Path
    new: Path | None


def watcher(folder: Path, source: Path = SOURCE) -> Path:
    """Compile a library that watches."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no compiler of C")
    library = folder / "watching.so"
    command = [
        compiler,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O1",
        "-shared",
        "-fPIC",
        "-o",
        str(library),
        str(source),
        "-ldl",
    ]
    subprocess.run(command, check=True)
    return library


def watched(library: Path, command: Sequence[str | Path], log: Path) -> list[Call]:
    """Run a command that must succeed; return its calls in order."""
    environment = {**os.environ, "LD_PRELOAD": str(library), "WATCH_LOG": str(log)}
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = (line.split("\t") for line in log.read_text().splitlines())
    return [Call(int(thread), what, Path(path), Path(new) if new else None) for thread, what, path, new in lines]


def counting_opens(library: Path, folder: Path, log: Path) -> dict[str, str]:
    """Return the variables with which processes write down which files of a folder they open; of `OPENS`."""
    return {"LD_PRELOAD": str(library), "OPENS_UNDER": str(folder.resolve()), "OPENS_LOG": str(log)}


def opens_of(log: Path) -> dict[int, int]:
    """Return how many files each process has opened, the busiest first."""
    processes = Counter(int(line) for line in log.read_text().split()) if log.exists() else Counter()
    return dict(processes.most_common())


def name_given(calls: Sequence[Call], final: Path) -> int:
    """Return which call made a final name last as far as it was on the disk; fail if the file could be lost.

    The content is synced behind its last write and before the rename, and the directory behind the rename.
    """
    final = final.resolve()
    renames = [at for at, call in enumerate(calls) if call.what == "rename" and call.new == final]
    assert renames, f"{final.name} was not renamed to its name"
    at = renames[-1]
    # What it was called before: a writer that goes by endings has a further name in between.
    names = {calls[at].path}
    names |= {call.path for call in calls[:at] if call.what == "rename" and call.new in names}
    before = calls[:at]
    writes = [i for i, call in enumerate(before) if call.what == "write" and call.path in names]
    syncs = [i for i, call in enumerate(before) if call.what == "sync" and call.path in names]
    assert writes, f"{final.name}: nobody was seen to write it"
    assert max(syncs, default=-1) > writes[-1], f"{final.name}: it got its name before its content was synced"
    # At once: that another file of the directory happens to be synced later is of no use.
    thread = calls[at].thread
    behind = next((i for i, call in enumerate(calls) if i > at and call.thread == thread and call.what != "write"), at)
    is_synced = (calls[behind].what, calls[behind].path) == ("sync", final.parent)
    assert is_synced, f"{final.name}: its directory was not synced after it got its name, but {calls[behind]}"
    return behind


def removed(calls: Sequence[Call], path: Path) -> int:
    """Return which call removed a file."""
    return next(at for at, call in enumerate(calls) if call.what == "unlink" and call.path == path.resolve())
