"""Journals of processes that may be killed at any moment.

A line is appended by one call, so that a kill leaves it whole or not at all. Lines of frames begin with ``F``, those of
published frames with ``P``, and all others hold a word and JSON.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import far_channels as far
from mdreel.live.channels.frame import Frame

STEPS_PER_FRAME = 10


@dataclass(frozen=True)
class Taken:
    """Line of a frame that a consumer has taken."""

    sequence: int
    epoch: int
    step: int
    digest: int
    missed: int


@dataclass(frozen=True)
class Put:
    """Line of a frame that a simulation has published: when it began, s since 1970, and how long it took, s."""

    sequence: int
    step: int
    level: str
    began: float
    seconds: float


@dataclass(frozen=True)
class Event:
    """Any other line."""

    word: str
    what: dict[str, Any]


class Journal:
    """Journal of an actor, which each of its incarnations continues."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def took(self, frame: Frame, digest: int, missed: int) -> None:
        """Record a frame that was taken."""
        self._append(f"F {frame.sequence} {frame.epoch} {frame.step} {digest} {missed}")

    def put(self, put: Put) -> None:
        """Record a frame that was published."""
        self._append(f"P {put.sequence} {put.step} {put.level} {put.began:.6f} {put.seconds:.6f}")

    def event(self, word: str, **what: Any) -> None:
        """Record anything else."""
        self._append(f"{word} {json.dumps({'at': round(time.time(), 3), **what})}")

    def _append(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())


def lines_of(path: Path) -> Iterator[Taken | Put | Event]:
    """Read a journal that nobody writes to any more, without a last line that is not whole."""
    if not path.exists():
        return
    with path.open() as journal:
        for line in journal:
            if not line.endswith("\n"):
                return
            word, _, rest = line[:-1].partition(" ")
            if word == "F":
                yield Taken(*map(int, rest.split()))
            elif word == "P":
                sequence, step, level, began, seconds = rest.split()
                yield Put(int(sequence), int(step), level, float(began), float(seconds))
            else:
                yield Event(word, json.loads(rest))


def digest_of(positions: np.ndarray) -> int:
    """Return a number of 64 bits that identifies positions."""
    return int.from_bytes(hashlib.blake2b(positions.tobytes(), digest_size=8).digest(), "little")


def expected_digest(channel: str, step: int, n_atoms: int) -> int:
    """Return the digest of the positions of a step."""
    return digest_of(far.positions(channel, step // STEPS_PER_FRAME, n_atoms))


def checked(frame: Frame, channel: str, n_atoms: int) -> int:
    """Return the digest of a frame, and raise AssertionError if it is torn or mixed up with another one."""
    positions = frame.positions
    assert positions is not None, f"frame {frame.sequence} has no positions"
    digest = digest_of(positions)
    assert digest == expected_digest(channel, frame.step, n_atoms), f"torn: frame {frame.sequence}, step {frame.step}"
    assert frame.step % STEPS_PER_FRAME == 0, f"torn: frame {frame.sequence}, step {frame.step}"
    assert frame.time == frame.step / 20, f"torn: frame {frame.sequence}, step {frame.step}, time {frame.time}"
    assert frame.box is not None, f"torn: frame {frame.sequence} has no cell"
    assert (frame.box == far.BOX).all(), f"torn: frame {frame.sequence}, cell {frame.box}"
    return digest
