"""The goals of latency and throughput, and their page with floors and all solutions."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from mdreel_lab.bench.records import DONE
from mdreel_lab.bench.table import VERDICTS, WRITTEN, aim_of, machine, markdown, number

PROOF = "crates/mdreel-channel/tests/channel_without_system_calls.rs"

_MEASURES: Mapping[str, str] = {
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


_PUBLISH_FACTOR, _PUBLISH_BEYOND, _ARRIVAL_BEYOND, _TAKE = 1.5, 5.0, 60.0, 1.0
_FAR_ARRIVAL, _FAR_SHARE, _FAIR = 1.5, 70.0, 0.8
_OF = {"value": "median", "p99": "p99"}


def goals_of(page: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the goals, each with the measured median, or None without a measurement."""
    core = page["core"].get("jac")
    found: list[dict[str, Any]] = []

    def add(text: str, bound: float, unit: str, value: Any, *, at_least: bool = False, **spread: Any) -> None:
        met = None if value is None else value >= bound if at_least else value <= bound
        goal = {"text": text, "bound": bound, "unit": unit, "value": value}
        found.append(goal | {"at_least": at_least, "met": met} | spread)

    def beyond(measure: str, factor: float) -> dict[str, Any]:
        if not core:
            return {"value": None}
        return {which: core[measure][name] - factor * core["copy"]["median"] for which, name in _OF.items()}

    text = f"JAC: publish beyond {_PUBLISH_FACTOR:g} times the copy"
    add(text, _PUBLISH_BEYOND, "µs", **beyond("publish", _PUBLISH_FACTOR))
    add("JAC: publish to a process that waits, beyond the copy", _ARRIVAL_BEYOND, "µs", **beyond("arrival", 1.0))
    add("JAC: taking a frame that is there", _TAKE, "µs", **beyond("take", 0.0))
    streamed = {kept.point.kind: kept.facts for kept in reversed(page["between_nodes"]) if kept.status == DONE}
    ours, floor = streamed.get("ours"), streamed.get("floor")
    nothing: dict[str, Any] = {"value": None}
    far = {which: ours["jac"]["arrival"][name] / 1e3 for which, name in _OF.items()} if ours else nothing
    add("JAC: to a process in another namespace", _FAR_ARRIVAL, "ms", **far)
    share = nothing
    if ours and floor:
        rounds = zip(*(facts["stmv"]["gigabytes_per_second"] for facts in (ours, floor)), strict=True)
        share = _of_rounds([100 * one / other for one, other in rounds])
    add("STMV: of what TCP carries between the namespaces", _FAR_SHARE, "%", at_least=True, **share)
    fair = _of_rounds(fairness(ours)) if ours else nothing
    add(f"{page['n_pairs']} pairs at once: slowest pair over fastest pair", _FAIR, "", at_least=True, **fair)
    return found


def fairness(facts: dict[str, Any]) -> list[float]:
    """Return the share of the slowest of several pairs divided by that of the fastest, for each round."""
    return [min(shares) / max(shares) for shares in facts["at_once"]]


def _of_rounds(values: Sequence[float]) -> dict[str, Any]:
    return {"value": median(values), "lowest": min(values), "highest": max(values)}


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
        rows.append((goal["text"], aim_of(goal), shown[0] or "not measured", shown[1], VERDICTS[goal["met"]]))
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
