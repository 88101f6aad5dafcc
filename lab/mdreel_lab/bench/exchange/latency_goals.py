"""Goals of latency and throughput, and what was measured."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from mdreel_lab.bench.records import DONE, Kept

_PUBLISH_FACTOR, _PUBLISH_BEYOND, _ARRIVAL_BEYOND, _TAKE = 1.5, 5.0, 60.0, 1.0
_FAR_ARRIVAL, _FAR_SHARE, _FAIR = 1.5, 70.0, 0.8
_OF = {"value": "median", "p99": "p99"}


def goals_of(page: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the goals, each with the median that was measured, None where nothing was."""
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
    ours, floor = (_streamed(page["between_nodes"], kind) for kind in ("ours", "floor"))
    nothing: dict[str, Any] = {"value": None}
    far = {which: ours["jac"]["arrival"][name] / 1e3 for which, name in _OF.items()} if ours else nothing
    add("JAC: to a process in another namespace", _FAR_ARRIVAL, "ms", **far)
    share = nothing
    if ours and floor:
        rounds = zip(*(facts["stmv"]["gigabytes_per_second"] for facts in (ours, floor)), strict=True)
        share = _of_rounds([100 * one / other for one, other in rounds])
    add("STMV: of what TCP carries between the namespaces", _FAR_SHARE, "%", at_least=True, **share)
    fair = _of_rounds(fairness(ours)) if ours else nothing
    add(f"{page['n_pairs']} pairs at once: least of what comes, over most", _FAIR, "", at_least=True, **fair)
    return found


def fairness(facts: dict[str, Any]) -> list[float]:
    """Return the least over the most of what came to each of several pairs, by round."""
    return [min(shares) / max(shares) for shares in facts["at_once"]]


def _streamed(records: Sequence[Kept[Any]], kind: str) -> dict[str, Any] | None:
    return next((kept.facts for kept in records if kept.point.kind == kind and kept.status == DONE), None)


def _of_rounds(values: Sequence[float]) -> dict[str, Any]:
    return {"value": median(values), "lowest": min(values), "highest": max(values)}
