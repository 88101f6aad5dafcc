"""Plans: the points of scenarios, in the folder of their records."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from mdreel.errors import FormatError
from mdreel_lab.bench.exchange.points import ExchangePoint, exchange_points_of
from mdreel_lab.bench.exchange.scenario import KIND, Exchange
from mdreel_lab.bench.grid import Point, points_of
from mdreel_lab.bench.records import RECORDS, Kept, of_json, point_of, read_json, write_json, write_text
from mdreel_lab.bench.scenario import Scenario

ScenarioPoint: TypeAlias = Point | ExchangePoint

PLANS = "plans"
"""The folder of plans within that of a benchmark."""


def plan(name: str, scenario: Scenario | Exchange, size: str, repeats: int | None = None) -> Sequence[ScenarioPoint]:
    """Return all points of a scenario at one of `mdreel_lab.bench.scenario.SIZES`.

    By default, each point is repeated as often as the scenario specifies.
    """
    if repeats is not None:
        # Grids compare whether they are asked for the small size, so the scenario changes as well.
        scenario = scenario.with_repeats(repeats)
    if isinstance(scenario, Exchange):
        return exchange_points_of(name, scenario, scenario.size(size))
    return points_of(name, scenario, scenario.size(size))


def keep_plan(
    folder: Path, name: str, source: Path, size: str, points: Sequence[ScenarioPoint], chosen: Any = None
) -> None:
    """Save the scenario file and the keys of its points at one size, for the report; and how the size was chosen."""
    place = folder / PLANS / f"{name}.toml"
    if place.resolve() != source.resolve():
        write_text(place, source.read_text(encoding="utf-8"))
    said = {} if chosen is None else {"chosen": chosen}
    write_json(place.with_suffix(".json"), {"size": size, **said, "keys": [point.key for point in points]})


def chosen_before(folder: Path, name: str, size: str) -> Any:
    """Return how the size of a scenario was chosen when it was begun at this size, or None."""
    place = folder / PLANS / f"{name}.json"
    content = read_json(place) if place.exists() else {}
    return content.get("chosen") if isinstance(content, dict) and content.get("size") == size else None


def planned(folder: Path) -> list[str]:
    """Return the names of the scenarios that were begun in a folder."""
    return sorted(path.stem for path in (folder / PLANS).glob("*.json"))


def plan_of(folder: Path, name: str) -> tuple[Path, str, list[Kept[Any]]]:
    """Return the file of a scenario, its size, and the records there are of its points, in their order.

    Raise a `FormatError` if the plan or a record is invalid.
    """
    place = folder / PLANS / f"{name}.json"
    try:
        content = read_json(place)
        size, keys = str(content["size"]), list(content["keys"])
    except (FormatError, TypeError, KeyError) as error:
        raise FormatError(f"{place}: this is no plan of a benchmark: {error}") from error
    places = [folder / RECORDS / name / f"{key}.json" for key in keys]
    return place.with_suffix(".toml"), size, [_read(one) for one in places if one.exists()]


def _read(place: Path) -> Kept[Any]:
    content = read_json(place)
    try:
        said = content["point"]
        kind: type[ScenarioPoint] = ExchangePoint if said.get("kind") == KIND else Point
        point = point_of(kind, said)
    except (TypeError, KeyError, AttributeError) as error:
        raise FormatError(f"{place}: this is no record of a benchmark: {error}") from error
    return of_json(content, place, point)
