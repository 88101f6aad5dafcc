"""The page of latency and throughput: goals, floors and all solutions."""

from collections.abc import Mapping, Sequence
from statistics import median
from types import MappingProxyType
from typing import Any

from mdreel_lab.bench.exchange.latency_goals import fairness
from mdreel_lab.bench.records import DONE
from mdreel_lab.bench.table import WRITTEN, machine, markdown, number

PROOF = "crates/mdreel-channel/tests/channel_without_system_calls.rs"

_MEASURES: Mapping[str, str] = MappingProxyType(
    {
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
)


def full(page: dict[str, Any]) -> str:
    """Return the page."""
    return "\n".join(
        [
            f"# Channels\n\n{WRITTEN}\n",
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
    rows = []
    for goal in goals:
        shown = [_figure(goal.get(name), goal["unit"]) for name in ("value", "p99")]
        if "lowest" in goal:
            shown[1] = f"{goal['lowest']:,.3g}–{_figure(goal['highest'], goal['unit'])}"
        verdict = {None: "", True: "met", False: "**missed**"}[goal["met"]]
        bound = f"{'≥' if goal['at_least'] else '≤'} {goal['bound']:g} {goal['unit']}".strip()
        rows.append((goal["text"], bound, shown[0] or "not measured", shown[1], verdict))
    return markdown(("Goal", "aimed at", "median", "99th percentile, or lowest to highest", ""), rows, "lrrrl")


def _figure(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:,.3g} {unit}".strip()


def _spread(found: dict[str, float] | None) -> str:
    return "" if found is None else f"{number(found['median'])} / {number(found['p99'])}"


def _core(page: dict[str, Any]) -> str:
    systems = page["core"]
    if not systems:
        return "Not measured.\n"
    heads = [f"{page['systems'][name]['label']}, {page['systems'][name]['n_slots']} slots" for name in systems]
    rows = [[text, *(_spread(found[measure]) for found in systems.values())] for measure, text in _MEASURES.items()]
    counts = ", ".join(f"{found['publish']['n']:,}" for found in systems.values())
    return f"{markdown(['µs', *heads], rows, 'l' + 'r' * len(heads))}\n{counts} frames.\n"


def _one_node(page: dict[str, Any]) -> str:
    jac, stmv = (page["systems"][name]["label"] for name in ("jac", "stmv"))
    rows = []
    for row in page["one_node"]:
        label, facts = row["point"]["label"], row["facts"]
        if row["status"] != DONE:
            rows.append(_problem(row, 4))
            continue
        of = {name.partition("-")[0]: found for name, found in facts.items()}
        others = {page["systems"][name]["label"] for name in facts} - {jac, stmv}
        label = f"{label} ({'; '.join(sorted(others))})" if others else label
        rows.append([label, *(_spread(of[name][what]) for name in ("jac", "stmv") for what in ("publish", "arrival"))])
    heads = ("µs", f"publish, {jac}", "until the consumer has it", f"publish, {stmv}", "until the consumer has it")
    counts = " and ".join(f"{page['systems'][name]['n_frames']:,}" for name in ("jac", "stmv"))
    said = f"{counts} frames, or those of {page['at_most']:g} s, each published when the consumer waits."
    return f"{markdown(heads, rows, 'lrrrr')}\n{said}\n"


def _between_nodes(page: dict[str, Any]) -> str:
    rows = []
    for row in page["between_nodes"]:
        facts = row["facts"]
        if row["status"] != DONE:
            rows.append(_problem(row, 6))
            continue
        cells = [row["point"]["label"]]
        for name in ("jac", "stmv"):
            cells += [_spread(facts[name]["arrival"]), number(median(facts[name]["gigabytes_per_second"]))]
        rows.append([*cells, number(median(map(sum, facts["at_once"]))), number(median(fairness(facts)))])
    at_once = f"JAC, {page['n_pairs']} pairs at once, GB/s"
    heads = ("", "JAC, µs", "JAC, GB/s", "STMV, µs", "STMV, GB/s", at_once, "least of them, over most")
    said = "µs: from before a frame is published until the consumer has it, which waits. GB/s: frames without a pause,"
    said += f"\nmedian of {page['n_rounds']} rounds of all in turn."
    return f"{markdown(heads, rows, 'lrrrrrr')}\n{said}\n"


def _problem(row: dict[str, Any], n_cells: int) -> list[str]:
    why = row["message"].strip().splitlines()[-1].replace("|", "/")
    return [row["point"]["label"], f"not measured: {why}", *[""] * (n_cells - 1)]
