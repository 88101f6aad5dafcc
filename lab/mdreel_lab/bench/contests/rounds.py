"""Rounds of contenders in turn, each in a fresh process, and ratios of the times of a round."""

import json
import os
import random
import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mdreel_lab.bench.contests.contenders import Entrant
from mdreel_lab.bench.data import System, make
from mdreel_lab.bench.processes import ProcessError, child_environment, run_process
from mdreel_lab.bench.records import DONE, FAILED, LEFT_OUT, Kept

TIME_LIMIT = 3600.0
"""Time limit of one measurement, s."""

TOLERANCE = {"mean_rmsd": 2e-3, "last_rmsd": 2e-3, "last": 2e-2, "last_selected": 2e-2}
"""Largest deviation of results, Å: a PDB reference is rounded to 0.001 Å, an XTC position to 0.01 Å."""

Log = Callable[[str], object]

LONG_FRAMES = 500_000


@dataclass(frozen=True)
class Settings:
    """Settings of a run: folders, frames of each system, and rounds; if quick, everything is small."""

    data: Path
    results: Path
    lengths: dict[str, int]
    rounds: int
    is_long: bool
    is_quick: bool
    log: Log

    @property
    def cache(self) -> Path:
        """The folder of mdreel's index of frames."""
        return self.data / "cache"

    def long_frames(self, system: str) -> int:
        """Return the frames of a long trajectory."""
        return self.lengths[system] if self.is_quick else LONG_FRAMES

    def make(self, system: str, form: str, n_frames: int = 0) -> System:
        """Return a system with a trajectory of the given number of frames, or of its usual length."""
        return make(system, n_frames or self.lengths[system], self.data, (form,))


@dataclass(frozen=True)
class ContestPoint:
    """One contender of a case; its record has the time of each round."""

    scenario: str
    key: str
    label: str
    family: str
    kind: str
    cores: int
    n_frames: int


@dataclass
class Run:
    """The rounds of one contender: its last ``result``, and the ``problem`` for which it is left out."""

    entrant: Entrant
    status: str = DONE
    seconds: list[float] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None

    @property
    def label(self) -> str:
        """The name of the contender in the tables."""
        return self.entrant.contender.label

    @property
    def kind(self) -> str:
        """The kind of the contender, one of `cases.KINDS`."""
        return self.entrant.contender.kind

    def fail(self, problem: str, log: Log) -> None:
        """Mark the contender as failed and discard its times."""
        self.status, self.problem = FAILED, problem
        self.seconds.clear()
        log(f"  FAILED {self.label}: {problem}")

    def record(self, case: str, n_frames: int) -> Kept[ContestPoint]:
        """Return its record."""
        one = self.entrant.contender
        point = ContestPoint(case, one.key, one.label, one.family, one.kind, one.cores, n_frames)
        if not self.seconds:
            return Kept(point, self.status, str(self.problem))
        found = {name: self.result[name] for name in TOLERANCE if name in self.result}
        return Kept(point, DONE, "", statistics.median(self.seconds), {"rounds": self.seconds, **found})


def launch(entrant: Entrant, cache: Path) -> dict[str, Any]:
    """Run a contender once, and return the line of JSON that it prints.

    Raise a `ProcessError` if there are too few cores, the process fails, or it prints no such line.
    """
    n_cores = entrant.contender.cores
    allowed = sorted(os.sched_getaffinity(0))[:n_cores]
    if len(allowed) < n_cores:
        raise ProcessError(f"{n_cores} cores are needed, {len(allowed)} may be used")
    printed = run_process(entrant.command, child_environment(cache, n_cores), TIME_LIMIT, cores=allowed)
    # mdtraj's DCD reader prints on the standard output too.
    lines = [line for line in printed.splitlines() if line.startswith("{")]
    if len(lines) != 1:
        raise ProcessError(f"{len(lines)} lines of JSON instead of 1 in {printed[-200:]!r}")
    report: dict[str, Any] = json.loads(lines[0])
    return report


def in_turn(entrants: Iterable[Entrant], rounds: int, n_frames: int, cache: Path, log: Log) -> list[Run]:
    """Measure contenders round by round.

    Each round has another order, so that none always follows the same: memory that the contender before has just
    freed is faster to get. Each must report to have read ``n_frames``. mdreel's index of frames is kept in ``cache``
    between runs.
    """
    runs = [Run(entrant, problem=entrant.missing()) for entrant in entrants]
    is_indexed = False
    for run in runs:
        if run.problem:
            run.status = LEFT_OUT
            log(f"  skipped {run.label}: {run.problem}")
        elif run.kind == "ours" and run.entrant.contender.index == "kept" and not is_indexed:
            _attempt(run, cache, log)  # leaves the index that all measured runs of ours find
            is_indexed = run.problem is None
            run.seconds.clear()
    for number in range(rounds):
        for run in random.Random(number).sample(runs, len(runs)):  # noqa: S311 (an order, no secret)
            if run.problem is None:
                _attempt(run, cache, log)
    _check(runs, n_frames, log)
    return runs


def _attempt(run: Run, cache: Path, log: Log) -> None:
    with tempfile.TemporaryDirectory() as empty:
        try:
            run.result = launch(run.entrant, cache if run.entrant.contender.index == "kept" else Path(empty))
        except (ProcessError, OSError) as error:
            run.fail(str(error), log)
            return
    run.seconds.append(run.result["seconds"])
    log(f"  {run.label}: {run.result['seconds']:.3f} s")


def _check(runs: Sequence[Run], n_frames: int, log: Log) -> None:
    """Disqualify contenders with a different result: a fast wrong answer must not win."""
    done = [run for run in runs if run.seconds and run.kind != "floor"]
    problems: dict[int, str] = {}
    for name, tolerance in TOLERANCE.items():
        # The results of peers judge the result of mdreel, never the other way round.
        answers = sorted((run for run in done if name in run.result), key=lambda run: run.kind == "ours")
        for run in answers:
            if (distance := _distance(run.result[name], answers[0].result[name])) > tolerance:
                problems[id(run)] = f"{name} is {distance:.2g} Å away from that of {answers[0].label}"
    found = [run for run in done if "value" in run.result]
    first = min(
        [run for run in found if run.kind != "ours"] or found, key=lambda run: run.result["within"], default=None
    )
    for run in found:
        assert first is not None
        value, other = run.result["value"], first.result["value"]
        if abs(value - other) > run.result["within"] * abs(other):
            problems[id(run)] = f"it and {first.label} find {value:.6g} and {other:.6g}"
    for run in done:
        if (read := run.result.get("n_frames")) != n_frames:
            problems[id(run)] = f"read {read} frames instead of {n_frames}"
        if problem := problems.get(id(run)):
            run.fail(problem, log)


def _distance(one: float | list[float], other: float | list[float]) -> float:
    if isinstance(one, list) and isinstance(other, list):
        return max(abs(a - b) for a, b in zip(one, other, strict=True))
    assert not isinstance(one, list)
    assert not isinstance(other, list)
    return abs(one - other)


def ratio(over: Kept[Any], under: Kept[Any]) -> dict[str, float]:
    """Divide the times of two contenders round by round; return the median ratio, the lowest and the highest."""
    ratios = [a / b for a, b in zip(over.rounds, under.rounds, strict=True)]
    return {"median": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}


def fastest(records: Iterable[Kept[ContestPoint]]) -> Kept[ContestPoint] | None:
    """Return the record with the lowest median, of those that have one."""
    return min((kept for kept in records if kept.status == DONE), key=lambda kept: kept.seconds, default=None)


def point_json(kept: Kept[ContestPoint]) -> dict[str, Any]:
    """Return a record as JSON, without the environment, which its page has."""
    return {name: value for name, value in asdict(kept).items() if name not in ("environment", "spans")}
