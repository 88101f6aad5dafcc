"""The page of the channels: goals, floors and all contenders."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from peers.channels.pair import AT_MOST
from table import machine, number

if TYPE_CHECKING:
    from collections.abc import Sequence

PUBLISH_FACTOR, PUBLISH_BEYOND, ARRIVAL_BEYOND, TAKE = 1.5, 5.0, 60.0, 1.0
FAR_ARRIVAL, FAR_SHARE, FAIR = 1.5, 70.0, 0.8

PROOF = "crates/mdreel-channel/tests/channel_without_system_calls.rs"

MEASURES = {
    "copy": "floor: copying the frame, into as many buffers in turn",
    "checksum": "floor: its checksum alone",
    "publish": "publish, nobody waits",
    "copy and wake-up": "floor: copying the frame, and waking a process with a futex",
    "arrival": "publish to a process that waits, until it has the frame",
    "publish to a sleeper": "of that, publishing",
    "take": "taking a frame that is there, and giving it back",
    "publish from Python": "from Python: publish, nobody waits",
    "take from Python": "from Python: taking a frame that is there, and giving it back",
}


def goals(page: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is aimed at, and what was measured: of medians."""
    core = page["core"].get("jac")
    found: list[dict[str, Any]] = []

    def add(text: str, bound: float, unit: str, value: Any, *, at_least: bool = False, **spread: Any) -> None:
        met = None if value is None else value >= bound if at_least else value <= bound
        goal = {"text": text, "bound": bound, "unit": unit, "value": value}
        found.append(goal | {"at_least": at_least, "met": met} | spread)

    def of_rounds(values: Sequence[float]) -> dict[str, Any]:
        return {"value": median(values), "lowest": min(values), "highest": max(values)}

    def beyond(measure: str, factor: float) -> dict[str, Any]:
        if not core:
            return {"value": None}
        return {which: core[measure][name] - factor * core["copy"]["median"] for which, name in OF.items()}

    text = f"JAC: publish beyond {PUBLISH_FACTOR:g} times the copy"
    add(text, PUBLISH_BEYOND, "µs", **beyond("publish", PUBLISH_FACTOR))
    add("JAC: publish to a process that waits, beyond the copy", ARRIVAL_BEYOND, "µs", **beyond("arrival", 1.0))
    add("JAC: taking a frame that is there", TAKE, "µs", **beyond("take", 0.0))
    ours = next((row for row in page["between_nodes"] if row.get("kind") == "ours" and "at_once" in row), None)
    floor = next((row for row in page["between_nodes"] if row.get("kind") == "floor" and "at_once" in row), None)
    far = {which: ours["jac"]["arrival"][name] / 1e3 for which, name in OF.items()} if ours else {"value": None}
    add("JAC: to a process in another namespace", FAR_ARRIVAL, "ms", **far)
    share: dict[str, Any] = {"value": None}
    if ours and floor:
        rounds = zip(*(row["stmv"]["gigabytes_per_second"] for row in (ours, floor)), strict=True)
        share = of_rounds([100 * one / other for one, other in rounds])
    add("STMV: of what TCP carries between the namespaces", FAR_SHARE, "%", at_least=True, **share)
    fair: dict[str, Any] = {"value": None} if ours is None else of_rounds(_least_of_most(ours))
    add(f"{page['n_pairs']} pairs at once: least of what comes, over most", FAIR, "", at_least=True, **fair)
    return found


OF = {"value": "median", "p99": "p99"}


def _least_of_most(row: dict[str, Any]) -> list[float]:
    """How fair a row was to several pairs, by round."""
    return [min(found) / max(found) for found in row["at_once"]]


def full(page: dict[str, Any]) -> str:
    """Return the page."""
    return "\n".join(
        [
            "# Channels\n\nWritten by `python benchmarks/run.py`; how it measures: [README](../README.md).\n",
            "Times are median / 99th percentile of one run.\n",
            "## Goals\n",
            _goals(page["goals"]),
            f"No system call while a frame is taken that is there: `{PROOF}`.\n",
            "## The core beside its floors\n",
            _core(page),
            "## On one node, called from Python\n",
            _one_node(page),
            "## Between two namespaces, called from Python\n",
            _between_nodes(page),
            f"{machine(page['environment'])}\n",
        ]
    )


def _goals(goals: Sequence[dict[str, Any]]) -> str:
    lines = ["| Goal | aimed at | median | 99th percentile, or lowest to highest | |", "|---|--:|--:|--:|---|"]
    for goal in goals:
        sign = "≥" if goal["at_least"] else "≤"
        shown = [_figure(goal.get(name), goal["unit"]) for name in ("value", "p99")]
        if "lowest" in goal:
            shown[1] = f"{goal['lowest']:,.3g}–{_figure(goal['highest'], goal['unit'])}"
        verdict = {None: "", True: "met", False: "**missed**"}[goal["met"]]
        shown[0] = shown[0] or "not measured"
        bound = f"{goal['bound']:g} {goal['unit']}".strip()
        lines.append(f"| {goal['text']} | {sign} {bound} | {' | '.join(shown)} | {verdict} |")
    return "\n".join(lines) + "\n"


def _figure(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:,.3g} {unit}".strip()


def _spread(found: dict[str, float] | None) -> str:
    return "" if found is None else f"{number(found['median'])} / {number(found['p99'])}"


def _core(page: dict[str, Any]) -> str:
    systems = page["core"]
    if not systems:
        return "Not measured.\n"
    heads = [f"{page['systems'][name]['label']}, {page['systems'][name]['n_slots']} slots" for name in systems]
    lines = [f"| µs | {' | '.join(heads)} |", "|---" + "|--:" * len(heads) + "|"]
    for measure, text in MEASURES.items():
        lines.append(f"| {text} | {' | '.join(_spread(found[measure]) for found in systems.values())} |")
    counts = ", ".join(f"{found['publish']['n']:,}" for found in systems.values())
    return "\n".join(lines) + f"\n\n{counts} frames.\n"


def _one_node(page: dict[str, Any]) -> str:
    jac, stmv = (page["systems"][name]["label"] for name in ("jac", "stmv"))
    lines = [
        f"| µs | publish, {jac} | until the consumer has it | publish, {stmv} | until the consumer has it |",
        "|---|--:|--:|--:|--:|",
    ]
    for row in page["one_node"]:
        if "problem" in row:
            lines.append(_problem(row, 4))
            continue
        of = {name.partition("-")[0]: row[name] for name in page["systems"] if name in row}
        sizes = {page["systems"][name]["label"] for name in page["systems"] if name in row} - {jac, stmv}
        label = f"{row['label']} ({'; '.join(sorted(sizes))})" if sizes else row["label"]
        cells = [_spread(of[name][what]) for name in ("jac", "stmv") for what in ("publish", "arrival")]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    counts = " and ".join(f"{page['systems'][name]['n_frames']:,}" for name in ("jac", "stmv"))
    return (
        "\n".join(lines) + f"\n\n{counts} frames, or those of {AT_MOST:g} s, each published when the consumer waits.\n"
    )


def _between_nodes(page: dict[str, Any]) -> str:
    n = page["n_pairs"]
    lines = [
        f"| | JAC, µs | JAC, GB/s | STMV, µs | STMV, GB/s | JAC, {n} pairs at once, GB/s | least of them, over most |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in page["between_nodes"]:
        if "problem" in row:
            lines.append(_problem(row, 6))
            continue
        cells = []
        for name in ("jac", "stmv"):
            cells += [_spread(row[name]["arrival"]), number(median(row[name]["gigabytes_per_second"]))]
        cells += [number(median([sum(found) for found in row["at_once"]])), number(median(_least_of_most(row)))]
        lines.append(f"| {row['label']} | {' | '.join(cells)} |")
    said = "µs: from before a frame is published until the consumer has it, which waits. GB/s: frames without a pause,"
    said += f"\nmedian of {page['n_rounds']} rounds of all in turn."
    return "\n".join(lines) + f"\n\n{said}\n"


def _problem(row: dict[str, Any], n_cells: int) -> str:
    why = row["problem"].strip().splitlines()[-1].replace("|", "/")
    return f"| {row['label']} | not measured: {why} |" + " |" * (n_cells - 1)
