"""The table of formats: one line for each format, system and selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import formats
import table

if TYPE_CHECKING:
    from collections.abc import Sequence

READERS = ("mdreel", "MDAnalysis", "mdtraj", "chemfiles", "molly")

FLOORS = {"floor-pread": "reading the file", "floor-memcpy": "copying as many bytes"}


def short(cases: Sequence[dict[str, Any]]) -> str:
    """Return the table: µs a frame, how many times as long as mdreel, and the floors of the machine.

    Parameters
    ----------
    cases
        What ``results.from_records`` made of the cases of formats.py.
    """
    if not cases:
        return ""
    columns = [*READERS, *FLOORS.values()]
    lines = ["| µs a frame | " + " | ".join(columns) + " |", "|---" + "|--:" * len(columns) + "|"]
    for case in cases:
        for what, text in formats.WHAT.items():
            best = [table.best(case, f"{reader}-{what}") for reader in READERS]
            floors = [next((one for one in case["contenders"] if one["key"] == key), None) for key in FLOORS]
            cells = [_cell(one, best[0]) for one in best] + [_cell(one, None) for one in floors]
            lines.append("| " + " | ".join([f"{case['title'].removesuffix(' read')}, {text}", *cells]) + " |")
    rounds = min(case["rounds"] for case in cases)
    return (
        "\n".join(lines) + "\n\nIn brackets: time divided by that of mdreel, medians of "
        f"{rounds} rounds. Every reader uses one core; the fastest way of using molly is shown. The floors are of the "
        f"whole file. {table.commits(cases)}{table.machine(cases[0]['environment'])}\n"
    )


def _cell(one: dict[str, Any] | None, ours: dict[str, Any] | None) -> str:
    if one is None or "seconds" not in one:
        return ""
    text = table.number(one["microseconds_per_frame"])
    if ours is None or one is ours or "seconds" not in ours:
        return text
    return f"{text} ({table.number(one['microseconds_per_frame'] / ours['microseconds_per_frame'])}x)"
