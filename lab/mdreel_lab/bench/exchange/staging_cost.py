"""Cost of a frame beside a fresh file: ``python -m mdreel_lab.bench.exchange.staging_cost FOLDER``.

The program writes the same bytes as fresh files, to staged channels, to a plain ring and to a managed directory. It
does so on the file system of FOLDER and on an XFS. All ways take turns in random order, frame by frame, so that a
drift of the machine affects them alike. Copies to one buffer, and to as many buffers in shared memory as the ring
has, are the lower bounds. It prints a table in Markdown; times are those of the call, and of the processor in the
call. The row on threads shows how long threads used the processor to prepare files for the
channel that retains all frames. With ``--pause SECONDS``, it sleeps before each frame, as between the frames of a
simulation. Meanwhile, the kernel writes files to the disk.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from mdreel.errors import UnsupportedError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.staging import Staging
from mdreel.live.channels.status import Status
from mdreel.live.managed.writer import ManagedProducer
from mdreel.live.producers.producer import Producer
from mdreel_lab.bench.exchange.places import MEMORY, Places, kind_of

MODELS = {"JAC": (23_558, 24), "STMV": (1_066_628, 5)}
"""Atoms of a model, each with position and velocity as float32, and frames of a way in each round."""

FILE = "write and rename a fresh file"
_COPY = "copy in memory"
_COPIES = "copy to as many buffers as the ring has"
_RING = "ring"
_KEPT = "staged, 256 MiB retained"
_KEPT_FOLLOWED = _KEPT + ", a consumer"
_NEWEST = "staged, few frames retained, one file per frame"
_NEWEST_FOLLOWED = _NEWEST + ", a consumer"
_ALL = "staged, all frames retained"
_THREADS = _ALL + ", threads"
_REUSING = _KEPT, _KEPT_FOLLOWED, _NEWEST, _NEWEST_FOLLOWED
"""Ways that reuse files."""

_PATIENCE = 60.0
_N_ROUNDS = 7
_KEPT_BYTES = 256 << 20

Way = Callable[[int], object]
Times = dict[str, list[float]]


class Ways(ExitStack):
    """All ways to write a frame of a model on one file system, by name, and what they have open."""

    def __init__(self, folder: Path, n_atoms: int) -> None:
        super().__init__()
        values = np.random.default_rng(1).random((2, n_atoms, 3), np.float32)
        self._positions, self._velocities = values
        self._bytes = values.reshape(-1).view(np.uint8)
        self._copy = np.empty_like(self._bytes)
        self._folder = Path(self.enter_context(tempfile.TemporaryDirectory(dir=folder)))
        self._memory = Path(self.enter_context(tempfile.TemporaryDirectory(dir=MEMORY)))
        (self._folder / "files").mkdir()
        self.size = size = values.nbytes
        ring = self._channel("ring", None)
        n_buffers = Status.read(self._memory / "ring").n_slots
        buffers = np.memmap(self._memory / "buffers", np.uint8, "w+", shape=(n_buffers, size))
        kept, newest = {"n_bytes": _KEPT_BYTES}, {"n_frames": 1, "segment_bytes": size}
        self.by_name: dict[str, Way] = {
            FILE: self._write_file,
            _COPY: lambda number: np.copyto(self._copy, self._bytes),
            _COPIES: lambda number: np.copyto(buffers[number % n_buffers], self._bytes),
            _RING: ring,
            _KEPT: self._channel("some", kept),
            _KEPT_FOLLOWED: self._channel("some-followed", kept, is_followed=True),
            _NEWEST: self._channel("one", newest),
            _NEWEST_FOLLOWED: self._channel("one-followed", newest, is_followed=True),
            _ALL: self._channel("all", {}),
            "managed directory": self._managed(),
        }

    def clean(self) -> None:
        """Remove the files of the ways that keep theirs."""
        for path in [*(self._folder / "files").iterdir(), *(self._folder / "managed").glob("*.frame")]:
            path.unlink()

    def _write_file(self, number: int) -> None:
        hidden = f"{self._folder}/files/.{number}"
        file = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        n_written = os.write(file, self._bytes.data)
        os.close(file)
        Path(hidden).rename(f"{self._folder}/files/{number}")
        if n_written != self._bytes.nbytes:
            raise RuntimeError(f"wrote {n_written:,} of {self._bytes.nbytes:,} bytes")

    def _channel(self, name: str, kept: dict[str, Any] | None, *, is_followed: bool = False) -> Way:
        staging = None if kept is None else Staging(self._folder / name, **kept)
        path = self._memory / name
        n_atoms = len(self._positions)
        producer = self.enter_context(Producer(path, n_atoms, velocities=True, staging=staging, timeout=_PATIENCE))
        if is_followed:
            follower = subprocess.Popen([sys.executable, "-m", __spec__.name, "--follow", str(path)])
            self.callback(follower.wait)
            self.callback(producer.end)
            producer.await_consumers(1, _PATIENCE)
        return lambda number: producer.publish(self._positions, number, float(number), velocities=self._velocities)

    def _managed(self) -> Way:
        producer = self.enter_context(ManagedProducer(self._folder / "managed"))

        def write(number: int) -> None:
            with producer.open(f"{number}.frame", "wb", buffering=0) as file:
                file.write(self._bytes.data)

        return write


def measure(folder: Path, model: str, n_rounds: int, pause: float = 0.0) -> tuple[Times, Times]:
    """Return the wall and processor time of a frame in each round, s, by way: medians of the round."""
    n_atoms, n_frames = MODELS[model]
    with Ways(folder, n_atoms) as ways:
        names = list(ways.by_name)
        wall: Times = {name: [] for name in names}
        processor: Times = {name: [] for name in [*names, _THREADS]}
        n_before = 3 * (_KEPT_BYTES // ways.size + 1)
        for number in range(n_before):  # until the producers have mapped all their files
            for name in _REUSING:
                ways.by_name[name](number)
        of_threads = 0.0
        n_not_counted = 2 if pause else 1
        for number_of_round in range(n_not_counted + n_rounds):
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
            of_threads -= time.process_time() - time.thread_time()
            for turn in range(n_frames):
                random.shuffle(names)
                time.sleep(pause)
                for name in names:
                    began = time.perf_counter(), time.thread_time()
                    ways.by_name[name](n_before + number_of_round * n_frames + turn)
                    ended = time.perf_counter(), time.thread_time()
                    found[name].append((ended[0] - began[0], ended[1] - began[1]))
            of_threads += time.process_time() - time.thread_time()
            ways.clean()
            # Rings, segments and buffers are touched for the first time. With pauses, files also have to grow old.
            if number_of_round < n_not_counted:
                continue
            for name, times in found.items():
                wall[name].append(statistics.median(one for one, _ in times))
                processor[name].append(statistics.median(one for _, one in times))
        processor[_THREADS] = [of_threads / ((n_not_counted + n_rounds) * n_frames)] * n_rounds
    return wall, processor


def _cell(times: Times, name: str) -> str:
    if name not in times:
        return "– | –"
    microseconds = [1e6 * one for one in times[name]]
    ratios = [one / of_file for one, of_file in zip(times[name], times[FILE], strict=True)]
    low, high = min(microseconds), max(microseconds)
    spread = f" ({low:,.0f} to {high:,.0f})" if low < high else ""
    return f"{statistics.median(microseconds):,.0f}{spread} | {statistics.median(ratios):.2f}"


def _follow(path: Path) -> None:
    with Consumer(path, timeout=_PATIENCE, wait=_PATIENCE) as consumer:
        for _ in consumer:
            pass


def main() -> None:
    """Measure on both file systems and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=_N_ROUNDS)
    parser.add_argument("--pause", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--follow", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.follow:
        _follow(options.folder)
        return
    print("| file system, model | way | wall, µs | of the file | processor, µs | of the file |")
    print("|---|---|--:|--:|--:|--:|")
    with Places(options.folder, None) as places:
        folders = [places.of("local")]
        try:
            folders.append(places.of("xfs"))
        except UnsupportedError as error:
            print(f"no XFS: {error}", file=sys.stderr)
        for folder in dict.fromkeys(folders):
            kind = {"ext2/ext3": "ext4"}.get(kind_of(folder), kind_of(folder))
            for model in MODELS:
                wall, processor = measure(folder, model, options.rounds, options.pause)
                for name in processor:
                    print(f"| {kind}, {model} | {name} | {_cell(wall, name)} | {_cell(processor, name)} |", flush=True)


if __name__ == "__main__":
    main()
