"""Files of chains that tests write, spoil and change, and processes that open them together."""

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from h5md_writer import write_h5md
from mdreel.errors import MdreelError
from mdreel.execution.job import Job
from mdreel.execution.serving_processes import among_processes
from mdreel.trajectory.convert import convert


def segments(frame: Path, folder: Path, suffix: str, n_files: int) -> Path:
    """Fill a folder with files of one frame each."""
    first = frame.with_suffix(suffix)
    if not first.exists():
        convert(frame, first)
    for i in range(n_files):
        os.link(first, folder / f"{i:04}{suffix}")
    return folder


def garbage(path: Path) -> None:
    path.write_bytes(b"no trajectory" * 100)


def missing(path: Path) -> None:
    path.symlink_to("nowhere.xtc")


def larger(path: Path) -> None:
    positions = np.random.default_rng(4).normal(0, 5, (1, 13, 3)).astype(np.float32)
    convert(write_h5md(path.with_suffix(".h5md"), {"position": positions}), path)
    path.with_suffix(".h5md").unlink()


def torn(path: Path) -> None:
    content = (path.parent / "0000.xtc").read_bytes()
    path.write_bytes(content + content[:-8])


SPOILING = (garbage, missing, larger, torn)
"""What makes a file unusable."""


def replaced(path: Path) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(path.read_bytes())
    new.replace(path)


def written_over(path: Path) -> None:
    content = path.read_bytes()
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(1, 10**18))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 8)


def lengthened(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(8))


CHANGES = {
    replaced: "another file has this name",
    written_over: "was modified since",
    cut: "it is not the same file",
    lengthened: "it is not the same file",
}


class Pair:
    """Two processes; a thread, which keeps objects of its own, stands for the other one."""

    n_processes = 2

    def __init__(self, other: ThreadPoolExecutor, between: Callable[[], object]) -> None:
        self.other, self.between = other, between

    def call(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any] | None:
        there = self.other.submit(function, *arguments[1])
        try:
            answers = [function(*arguments[0]), pickle.loads(pickle.dumps(there.result()))]
        except (MdreelError, OSError):
            return None
        self.between()
        return answers


@contextmanager
def two_processes(between: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Open files in two processes, and call a function after each step."""
    with ExitStack() as stack:
        other = ThreadPoolExecutor(1, initializer=lambda: stack.enter_context(among_processes()))
        with other, among_processes(Pair(other, between)):
            yield
            other.submit(stack.close).result()


def elsewhere(job: Job) -> Job:
    there: Job = pickle.loads(pickle.dumps(job))
    return there
