"""Results on disk: one JSON file a case, from which the tables are written."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from measure import TOLERANCE, Record, fastest, ratio

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cases import Case, Goal


def from_records(case: Case, records: Sequence[Record], environment: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a case.

    Notes
    -----
    Every ratio is that of two times of the same round: the machine's drift from round to round cancels.
    """
    system = case.system
    mine = next((record for record in records if record.contender.kind == "ours" and record.seconds), None)
    return {
        "case": case.name,
        "title": case.title,
        "environment": environment,
        "data": {
            "file": system.trajectory(case.form).name,
            "n_bytes": system.trajectory(case.form).stat().st_size,
            "n_frames": system.n_frames,
        },
        "rounds": max((len(record.seconds) for record in records), default=0),
        "contenders": [_contender(record, mine, system.n_frames) for record in records],
        "goals": [_goal(goal, records) for goal in case.goals],
    }


def _contender(record: Record, mine: Record | None, n_frames: int) -> dict[str, Any]:
    contender = record.contender
    kept: dict[str, Any] = {
        "key": contender.key,
        "label": contender.label,
        "family": contender.family,
        "kind": contender.kind,
        "cores": contender.cores,
    }
    if record.problem is not None or not record.seconds:
        return kept | {"problem": record.problem}
    kept |= {"seconds": record.seconds, "microseconds_per_frame": 1e6 * record.median / n_frames}
    kept |= {name: record.result[name] for name in TOLERANCE if name in record.result}
    return kept | {"times_ours": asdict(ratio(record, mine)) if mine else None}


def _goal(goal: Goal, records: Sequence[Record]) -> dict[str, Any]:
    over = fastest(record for record in records if record.contender.key in goal.over)
    under = fastest(record for record in records if record.contender.key in goal.under)
    kept: dict[str, Any] = {"text": goal.text, "bound": goal.bound, "at_least": goal.at_least}
    if over is None or under is None:
        return kept | {"ratio": None}
    found = ratio(over, under)
    met = found.median >= goal.bound if goal.at_least else found.median <= goal.bound
    return kept | {"ratio": asdict(found), "over": over.contender.key, "under": under.contender.key, "met": met}


def bounded(text: str, value: float, bound: float, unit: str) -> dict[str, Any]:
    """Return a figure that must stay below a bound."""
    return {"text": text, "value": value, "bound": bound, "unit": unit, "met": value <= bound}


def save(folder: Path, name: str, content: dict[str, Any]) -> None:
    """Write the JSON file of a case."""
    write(folder / f"{name}.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def load(folder: Path, name: str) -> dict[str, Any] | None:
    """Return what an earlier run kept of a case, or None."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def write(path: Path, text: str) -> None:
    """Write a file under a temporary name and rename it when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".part{path.suffix}")
    part.write_text(text)
    part.replace(path)
