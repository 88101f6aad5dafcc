"""Records: what is kept of each point in a folder, written when it is whole."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from mdreel.errors import FormatError
from mdreel.foundation.atomic_files import replacing
from mdreel_lab.bench.exchange.points import ExchangePoint
from mdreel_lab.bench.exchange.scenario import KIND
from mdreel_lab.bench.grid import Point

if TYPE_CHECKING:
    from mdreel.timing.timing import Timing

DONE, FAILED, LEFT_OUT = "done", "failed", "left out"
"""What became of a point: it ran; it ran and failed; it cannot be run here."""

AnyPoint: TypeAlias = Point | ExchangePoint
PointT_co = TypeVar("PointT_co", bound=AnyPoint, covariant=True)

RECORDS = "records"
"""The folder of records within that of a benchmark."""

PLANS = "plans"
"""The folder of what was to be run."""


@dataclass(frozen=True)
class Kept(Generic[PointT_co]):
    """What is kept of a point.

    Attributes
    ----------
    point : Point or ExchangePoint
        What was to be done.
    status : str
        `DONE`, `FAILED` or `LEFT_OUT`.
    message : str
        Why it failed, or was left out.
    seconds : float
        How long all of it took, as its caller saw it, s: of an analysis the call of ``run``.
    facts : dict
        The state of the cache, the result's check, when each empty task was done, and the like.
    environment : dict
        Commit, versions, machine and files; see `mdreel.timing.environment`.
    spans : Path or None
        The record of its spans, where there are some.
    """

    point: PointT_co
    status: str
    message: str = ""
    seconds: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    spans: Path | None = None

    @cached_property
    def timing(self) -> "Timing | None":
        """Its spans; None where there are none."""
        if self.spans is None:
            return None
        from mdreel.timing.files import read_record

        return read_record(self.spans).timing


def place_of(folder: Path, point: AnyPoint) -> Path:
    """Return where the record of a point is, or will be."""
    return folder / RECORDS / point.scenario / f"{point.key}.json"


def spans_of(place: Path) -> Path:
    """Return where the spans of a record are."""
    return place.with_suffix(".spans.jsonl")


def keep(folder: Path, kept: Kept[AnyPoint]) -> None:
    """Write a record; it is whole afterwards, or as it was before."""
    place = place_of(folder, kept.point)
    place.parent.mkdir(parents=True, exist_ok=True)
    content = asdict(kept)
    content["spans"] = None if kept.spans is None else kept.spans.name
    with replacing(place, force=True) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def find(folder: Path, point: AnyPoint) -> Kept[Any] | None:
    """Return the record of a point, if there is one."""
    place = place_of(folder, point)
    return _read(place) if place.exists() else None


def keep_plan(folder: Path, name: str, source: Path, size: str, points: Sequence[AnyPoint]) -> None:
    """Keep what a scenario says and which points it has at a size: what a report is about."""
    plans = folder / PLANS
    plans.mkdir(parents=True, exist_ok=True)
    content = {"size": size, "keys": [point.key for point in points]}
    for place, text in (
        (plans / f"{name}.toml", source.read_text(encoding="utf-8")),
        (plans / f"{name}.json", json.dumps(content, indent=1) + "\n"),
    ):
        if place.resolve() != source.resolve():
            with replacing(place, force=True) as temporary:
                temporary.write_text(text, encoding="utf-8")


def planned(folder: Path) -> list[str]:
    """Return the names of the scenarios that were begun in a folder."""
    return sorted(path.stem for path in (folder / PLANS).glob("*.json"))


def plan_of(folder: Path, name: str) -> tuple[Path, str, list[Kept[Any]]]:
    """Return the file of a scenario, its size, and the records there are of its points, in their order.

    Raises
    ------
    FormatError
        If something is not what it should be.
    """
    place = folder / PLANS / f"{name}.json"
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        size, keys = str(content["size"]), list(content["keys"])
    except (ValueError, TypeError, KeyError) as error:
        raise FormatError(f"{place}: this is no plan of a benchmark: {error}") from error
    places = [folder / RECORDS / name / f"{key}.json" for key in keys]
    return place.with_suffix(".toml"), size, [_read(one) for one in places if one.exists()]


def _read(place: Path) -> Kept[Any]:
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        said, spans = content.pop("point"), content.pop("spans")
        point = ExchangePoint.of(said) if said.get("kind") == KIND else Point.of(said)
        return Kept(point, spans=None if spans is None else place.with_name(spans), **content)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(f"{place}: this is no record of a benchmark: {error}") from error
