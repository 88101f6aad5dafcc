"""The tables: all contenders for those who want to know, one line a job for the README."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from results import write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BEGIN = "<!-- speed-table:begin -->"
END = "<!-- speed-table:end -->"

FAMILIES = {
    "mdreel-1": "mdreel",
    "mdreel-2": "mdreel, 2 threads",
    "mdanalysis": "MDAnalysis",
    "mdanalysis-2": "MDAnalysis, 2 processes",
    "mdtraj": "mdtraj",
    "molly": "molly¹",
    "xdrfile": "xdrfile¹",
    "gmx": "gmx rms",
    "cpptraj": "cpptraj",
}
"""Columns of the short table."""


def full(cases: Sequence[dict[str, Any]], figures: Sequence[dict[str, Any]]) -> str:
    """Return the page with every contender, every floor and every goal.

    Parameters
    ----------
    cases
        What ``results.from_records`` made.
    figures
        Start-up and memory: each with ``title``, ``environment`` and ``figures``.
    """
    parts = ["# Speed\n\nWritten by `python lab/benchmarks/run.py`; how it measures: [README](../README.md).\n"]
    said = ""
    for page in (*cases, *figures):
        parts.append(f"## {page['title']}\n")
        if "contenders" in page:
            parts += [_context(page), _contenders(page)]
            if page["goals"]:
                parts.append(_goals(page["goals"]))
        else:
            parts.append(_figures(page["figures"]))
        where = machine(page["environment"])
        parts.append("Run as above.\n" if where == said else f"{where}\n")
        said = where
    return "\n".join(parts)


def commits(cases: Sequence[dict[str, Any]]) -> str:
    """Say of which commits a table is, where not all of it is of the first case's."""
    first = cases[0]["environment"]["commit"]
    others = {case["title"]: case["environment"]["commit"] for case in cases[1:]}
    said = [f"{title}: {commit}" for title, commit in others.items() if commit != first]
    return f"Measured at another commit: {'; '.join(said)}. " if said else ""


def machine(environment: dict[str, Any]) -> str:
    """Say what was measured, where."""
    versions = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    return (
        f"Commit {environment['commit']}; {environment['cpu']}, {environment['cores']} cores, "
        f"{environment['memory_gib']} GiB, Linux {environment['kernel']}, Python {environment['python']}; {versions}; "
        f"page cache {environment['cache']}; load {environment['load']} at the start."
    )


def _context(case: dict[str, Any]) -> str:
    data = case["data"]
    size = f"{data['file']}, {data['n_frames']:,} frames, {data['n_bytes'] / 1e9:.2f} GB"
    return f"{size}; medians of {case['rounds']}.\n"


def _contenders(case: dict[str, Any]) -> str:
    ours = next((one["label"] for one in case["contenders"] if one["kind"] == "ours" and "seconds" in one), "mdreel")
    lines = [f"| | cores | µs a frame | time / time of {ours} (lowest to highest) |", "|---|--:|--:|--:|"]
    for one in case["contenders"]:
        if "seconds" not in one:
            why = one["problem"].strip().splitlines()[-1]
            lines.append(f"| {one['label']} | {one['cores']} | not measured | {why} |")
            continue
        times = _spread(one["times_ours"]) if one["times_ours"] else ""
        lines.append(f"| {one['label']} | {one['cores']} | {number(one['microseconds_per_frame'])} | {times} |")
    return "\n".join(lines) + "\n"


def _goals(goals: Sequence[dict[str, Any]]) -> str:
    lines = ["| Goal | aimed at | measured | |", "|---|--:|--:|---|"]
    for goal in goals:
        sign = "≥" if goal["at_least"] else "≤"
        found, verdict = "not measured", ""
        if goal["ratio"]:
            found, verdict = _spread(goal["ratio"]), "met" if goal["met"] else "**missed**"
        lines.append(f"| {goal['text']} | {sign} {goal['bound']:g} | {found} | {verdict} |")
    return "\n".join(lines) + "\n"


def _figures(figures: Sequence[dict[str, Any]]) -> str:
    lines = ["| | aimed at | measured | |", "|---|--:|--:|---|"]
    for one in figures:
        verdict = "met" if one["met"] else "**missed**"
        lines.append(
            f"| {one['text']} | ≤ {one['bound']:g} {one['unit']} | {one['value']:.3g} {one['unit']} | {verdict} |"
        )
    return "\n".join(lines) + "\n"


def short(cases: Sequence[dict[str, Any]]) -> str:
    """Return the README's table: µs a frame, and how many times as long as mdreel's 1 thread, lowest to highest."""
    cases = [case for case in cases if any(one["family"] == "mdanalysis" for one in case["contenders"])]
    if not cases:
        return ""
    rows = [(case, {name: best(case, name) for name in FAMILIES}) for case in cases]
    used = [name for name in FAMILIES if any(ways[name] for _, ways in rows)]
    lines = ["| µs a frame | " + " | ".join(FAMILIES[name] for name in used) + " |", "|---" + "|--:" * len(used) + "|"]
    for case, ways in rows:
        lines.append("| " + " | ".join([case["title"], *(_cell(ways[name]) for name in used)]) + " |")
    rounds = min(case["rounds"] for case, _ in rows)
    data = "; ".join(
        dict.fromkeys(f"{case['data']['file']} has {case['data']['n_frames']:,} frames" for case, _ in rows)
    )
    return (
        "\n".join(lines) + f"\n\nIn brackets: time divided by that of mdreel with 1 thread, median of {rounds} rounds "
        "and lowest to highest. The fastest way of using each peer is shown. ¹ Reads only, computes no RMSD. "
        f"{data}. {commits(cases)}{machine(cases[0]['environment'])}\n"
    )


def best(case: dict[str, Any], family: str) -> dict[str, Any] | None:
    """Return the fastest contender of a family, or None."""
    ways = [one for one in case["contenders"] if one["family"] == family and "seconds" in one]
    return min(ways, key=lambda one: float(one["microseconds_per_frame"]), default=None)


def _cell(one: dict[str, Any] | None) -> str:
    if one is None:
        return "–"
    shown = number(one["microseconds_per_frame"])
    if one["times_ours"] is None or one["family"] == "mdreel-1":
        return f"**{shown}**" if one["kind"] == "ours" else shown
    return f"{shown} ({_spread(one['times_ours'])})"


def _spread(ratio: dict[str, float]) -> str:
    return f"{number(ratio['median'])}x, {number(ratio['low'])}–{number(ratio['high'])}"


def number(value: float) -> str:
    """Three significant digits, with commas and without exponents."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def insert(readme: Path, text: str) -> bool:
    """Put a table between the markers of a README.

    Returns
    -------
    bool
        Whether the file is there and has the markers.
    """
    if not readme.exists():
        return False
    before, begin, rest = readme.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        return False
    write(readme, f"{before}{BEGIN}\n{text}{END}{after}")
    return True
