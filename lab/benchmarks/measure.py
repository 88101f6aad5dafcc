"""Measuring: fresh processes, contenders in turn, ratios of the same round."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contender import HERE, Contender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

TIME_LIMIT = 3600
"""Seconds that one measurement may take."""

TOLERANCE = {"mean_rmsd": 2e-3, "last_rmsd": 2e-3, "last": 2e-2, "last_selected": 2e-2}
"""How far results may lie apart, Å: a PDB reference is rounded to 0.001 Å, an XTC position to 0.01 Å."""


@dataclass
class Record:
    """What one contender took, round by round.

    Parameters
    ----------
    contender
        Who.
    seconds
        One entry a round.
    result
        What it printed in the last round.
    problem
        Why it is left out, if it is.
    """

    contender: Contender
    seconds: list[float] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None

    @property
    def median(self) -> float:
        """Median of the rounds, s."""
        return statistics.median(self.seconds)


def environment(contender: Contender, cache: Path) -> dict[str, str]:
    """Return the environment of a contender's process: threads of libraries as many as its cores, our cache folder."""
    cores = str(contender.cores)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), cores)
    return {**os.environ, **threads, "MDREEL_CACHE_DIR": str(cache.resolve()), "PYTHONWARNINGS": "ignore"}


def launch(contender: Contender, cache: Path) -> dict[str, Any]:
    """Run one contender once.

    Parameters
    ----------
    contender
        Who.
    cache
        Folder for mdreel's index of frames.

    Returns
    -------
    dict
        The line that it printed.

    Raises
    ------
    RuntimeError
        If the process fails, or prints no line of JSON.
    """
    allowed = sorted(os.sched_getaffinity(0))[: contender.cores]
    if len(allowed) < contender.cores:
        raise RuntimeError(f"{contender.cores} cores are needed, {len(allowed)} may be used")
    done = subprocess.run(
        contender.command,
        check=False,
        cwd=HERE,
        env=environment(contender, cache),
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        preexec_fn=lambda: os.sched_setaffinity(0, allowed),
    )
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()[-500:]}")
    # mdtraj's DCD reader talks on the standard output too.
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if len(lines) != 1:
        raise RuntimeError(f"{len(lines)} lines of JSON instead of 1 in {done.stdout[-200:]!r}")
    report: dict[str, Any] = json.loads(lines[0])
    return report


@contextlib.contextmanager
def in_memory(path: Path) -> Iterator[None]:
    """Keep a file in the page cache, in the state in which reading it in order leaves it.

    It is read anew, since pages differ by how they came there (written, read in order, read here and there): large
    ones cost less to map. A map holds them, since the system may give up what nobody uses at the moment.
    """
    with path.open("rb", buffering=0) as file:
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        with mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ):
            yield


def in_turn(
    contenders: Iterable[Contender], rounds: int, n_frames: int, cache: Path, log: Callable[[str], None]
) -> list[Record]:
    """Measure contenders round by round.

    Parameters
    ----------
    contenders
        Who takes part.
    rounds
        How often each is measured. Each round starts with another contender, so that none always follows the same.
    n_frames
        Frames that each must report to have read.
    cache
        Folder in which mdreel's index is kept between runs.
    log
        Takes progress, a line at a time.

    Returns
    -------
    list of Record
        In the order of ``contenders``. A contender that is missing or fails has a ``problem`` and no seconds.
    """
    records = [Record(contender, problem=contender.missing()) for contender in contenders]
    is_indexed = False
    for record in records:
        if record.problem:
            log(f"  skipped {record.contender.label}: {record.problem}")
        elif record.contender.kind == "ours" and record.contender.index == "kept" and not is_indexed:
            _attempt(record, cache, log)  # leaves the index that all measured runs of ours find
            is_indexed = record.problem is None
            record.seconds.clear()
    for number in range(rounds):
        start = number % max(1, len(records))
        for record in records[start:] + records[:start]:
            if record.problem is None:
                _attempt(record, cache, log)
    _check(records, n_frames, log)
    return records


def _attempt(record: Record, cache: Path, log: Callable[[str], None]) -> None:
    with tempfile.TemporaryDirectory() as empty:
        kept = record.contender.index == "kept"
        try:
            record.result = launch(record.contender, cache if kept else Path(empty))
        except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
            record.problem = str(error)
            record.seconds.clear()
            log(f"  FAILED {record.contender.label}: {error}")
            return
    record.seconds.append(record.result["seconds"])
    log(f"  {record.contender.label}: {record.result['seconds']:.3f} s")


def _check(records: Sequence[Record], n_frames: int, log: Callable[[str], None]) -> None:
    """Take out whoever did not do the same job: a fast wrong answer must not win."""
    done = [record for record in records if record.seconds and record.contender.kind != "floor"]
    for name, tolerance in TOLERANCE.items():
        # A peer's result is the measure of ours, never the other way round.
        answers = sorted((r for r in done if name in r.result), key=lambda record: record.contender.kind == "ours")
        for record in answers:
            if (distance := _distance(record.result[name], answers[0].result[name])) > tolerance:
                other = answers[0].contender.label
                record.problem = f"{name} is {distance:.2g} Å away from that of {other}"
    found_values = [record for record in done if "value" in record.result]
    of_peers = [record for record in found_values if record.contender.kind != "ours"] or found_values
    for record in found_values:
        first = min(of_peers, key=lambda record: record.result["within"])
        if abs(record.result["value"] - first.result["value"]) > record.result["within"] * abs(first.result["value"]):
            values = f"{record.result['value']:.6g} and {first.result['value']:.6g}"
            record.problem = f"it and {first.contender.label} find {values}"
    for record in done:
        if (found := record.result.get("n_frames")) != n_frames:
            record.problem = f"read {found} frames instead of {n_frames}"
        if record.problem:
            record.seconds.clear()
            log(f"  FAILED {record.contender.label}: {record.problem}")


def _distance(one: float | list[float], other: float | list[float]) -> float:
    if isinstance(one, list) and isinstance(other, list):
        return max(abs(a - b) for a, b in zip(one, other, strict=True))
    if isinstance(one, list) or isinstance(other, list):
        raise TypeError(f"{one} and {other} cannot be compared")
    return abs(one - other)


@dataclass(frozen=True)
class Ratio:
    """How many times longer one contender took than another: the ratio of each round, its median and its spread."""

    median: float
    low: float
    high: float


def ratio(over: Record, under: Record) -> Ratio:
    """Divide the times of ``over`` by those of ``under``, round by round."""
    values = [a / b for a, b in zip(over.seconds, under.seconds, strict=True)]
    return Ratio(statistics.median(values), min(values), max(values))


def fastest(records: Iterable[Record]) -> Record | None:
    """Return the record with the lowest median, of those that have one."""
    return min((record for record in records if record.seconds), key=lambda record: record.median, default=None)
