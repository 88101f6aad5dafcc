"""A recommendation on how to run an analysis, and the numbers on which it is based."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from mdreel.cluster.advice.guidelines import Verdict
from mdreel.cluster.advice.model import Prediction
from mdreel.cluster.advice.plan import Plan
from mdreel.cluster.advice.sample import (
    FrameCost,
    Sample,
)
from mdreel.cluster.advice.target import Target
from mdreel.foundation.formatting import counted


@dataclass(frozen=True)
class Advice:
    """Recommended way to run an analysis.

    Attributes
    ----------
    sample : Sample
        Measured cost of the analysis.
    target : Target
        The target machine.
    cost : FrameCost
        Cost of a frame for one worker on the target.
    verdicts : tuple of Verdict
        Recommendations from the guidelines, with the numbers on which they are based.
    serial : Prediction
        Prediction for one worker.
    chosen : Prediction
        Prediction for the recommended plan.
    predictions : tuple of Prediction
        Predictions for 1, 2, 4, ... workers.
    """

    sample: Sample
    target: Target
    cost: FrameCost
    verdicts: tuple[Verdict, ...]
    serial: Prediction
    chosen: Prediction
    predictions: tuple[Prediction, ...]

    @property
    def plan(self) -> Plan:
        """The recommended plan."""
        return self.chosen.plan

    @property
    def ratio_comp_io(self) -> float:
        """R_comp/io of one worker on the target, or inf if the run does not read any data."""
        return self.cost.ratio_comp_io

    @property
    def ratio_comp_comm(self) -> float:
        """R_comp/comm of the plan, or inf if the run does not send any data."""
        return self.chosen.ratio_comp_comm

    def verdict(self, subject: str) -> Verdict:
        """Return the verdict on a subject, such as ``"file access"``."""
        return next(one for one in self.verdicts if one.subject == subject)

    def to_json(self) -> dict[str, Any]:
        """Return all values in a form that can be stored as JSON, in seconds and bytes, with None for infinity."""
        found = {
            "sample": {**asdict(self.sample), "slowdown": self.sample.slowdown},
            "target": asdict(self.target),
            "cost": asdict(self.cost),
            "ratio_comp_io": self.ratio_comp_io,
            "ratio_comp_comm": self.ratio_comp_comm,
            "verdicts": [asdict(one) for one in self.verdicts],
            "plan": {**asdict(self.plan), "frames_per_block": self.frames_per_block},
            "predictions": [self._row(one) for one in self.predictions],
        }
        finite: dict[str, Any] = _finite(found)
        return finite

    @property
    def frames_per_block(self) -> int:
        """Number of frames in each block of the plan."""
        return -(-self.sample.n_frames // self.plan.n_blocks)

    def _row(self, one: Prediction) -> dict[str, Any]:
        parts = {name: value for name, value in asdict(one).items() if name != "plan"}
        return {
            "n_workers": one.plan.n_workers,
            "n_nodes": one.plan.n_nodes,
            "executor": one.plan.executor,
            "access": one.plan.access,
            "seconds": one.seconds,
            **parts,
            "speedup": one.speedup(self.serial),
            "efficiency": one.efficiency(self.serial),
        }

    def __str__(self) -> str:
        return "\n".join((*_measured(self), "", *_advised(self), "", *_expected(self)))


def _measured(advice: Advice) -> Iterator[str]:
    sample, target = advice.sample, advice.target
    # One worker alone and several workers together may read the same frame.
    repeated = ", read up to twice," if sample.n_sampled > sample.n_distinct else ""
    lines = {
        "target": f"{target}, {target.file_system.name} file system" + ("" if target.is_here else " (assumed rates)"),
        "trajectory": _trajectory(sample),
        "sample": f"{sample.n_distinct:,} of {sample.n_frames:,} frames{repeated} in {sample.seconds:.2g} s",
        "a frame": f"{_cost(sample.alone)}; ± {100 * sample.spread:.0f} % between stretches",
    }
    if sample.together is not None:
        times = f"{sample.slowdown:.2f} times as long as alone" if sample.slowdown > 1 else "as fast as alone"
        lines[f"{sample.n_together} threads"] = f"{_cost(sample.together)}: {times}"
    if not target.is_here:
        lines["on the target"] = _cost(advice.cost)
    lines["R_comp/io"] = _ratio(advice.ratio_comp_io)
    if advice.chosen.communication:
        workers = counted(advice.plan.n_workers, "worker")
        lines["R_comp/comm"] = f"{_ratio(advice.ratio_comp_comm)} with {workers}, predicted"
    yield from _aligned(lines.items())


def _trajectory(sample: Sample) -> str:
    files = "" if sample.n_files == 1 else f", {sample.n_files:,} files"
    where = "" if sample.file_system is None else f", on {sample.file_system}"
    stripes = f" in {sample.n_stripes} stripes" if sample.n_stripes > 1 else ""
    cached = "" if sample.cached_share is None else f", {100 * sample.cached_share:.0f} % in the page cache"
    atoms = f"{sample.n_wanted_atoms:,} of {sample.n_atoms:,} atoms"
    return f"{sample.format}{files}, {atoms}, {sample.file_bytes / 1e3:.3g} kB per frame{where}{stripes}{cached}"


def _advised(advice: Advice) -> Iterator[str]:
    plan = advice.plan
    yield from _aligned((one.subject, f"{one.choice}: {one.reason} [{one.source}]") for one in advice.verdicts)
    nodes = f" on {plan.n_nodes} of {advice.target.n_nodes} nodes" if advice.target.n_nodes > 1 else ""
    blocks = f"{plan.n_blocks:,} of {advice.frames_per_block:,} frames"
    lines = {
        "workers": f"{plan.n_workers:,}{nodes}, of {counted(advice.target.n_workers, 'core')}",
        "blocks": f"{blocks} ({advice.frames_per_block * advice.sample.file_bytes / 1e6:.3g} MB of file)",
    }
    yield from _aligned(lines.items())


def _expected(advice: Advice) -> Iterator[str]:
    columns = "{:>8} {:>6}  {:<10} {:<17} {:>10} {:>8} {:>6}  {}"
    yield columns.format("workers", "nodes", "executor", "access", "expected", "S", "E", "bound by")
    for one in advice.predictions:
        plan = one.plan
        mark = "  <-" if plan.n_workers == advice.plan.n_workers else ""
        yield columns.format(
            f"{plan.n_workers:,}",
            plan.n_nodes,
            plan.executor,
            plan.access + (" (split)" if plan.must_split else ""),
            f"{_seconds(one.seconds)} s",
            f"{one.speedup(advice.serial):.3g}",
            f"{one.efficiency(advice.serial):.2f}",
            one.bound + mark,
        )


def _aligned(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in lines:
        yield f"{name:<14}{text}"


def _cost(cost: FrameCost) -> str:
    kinds = ("read", "decompress", "compute")
    parts = ", ".join(f"{kind} {_microseconds(getattr(cost, kind))}" for kind in kinds)
    return f"{parts} µs"


def _microseconds(seconds: float) -> str:
    return f"{1e6 * seconds:,.3g}" if seconds < 1e-3 else f"{1e6 * seconds:,.0f}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.3g}"


def _finite(value: Any) -> Any:
    """Replace values that JSON cannot store."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value
