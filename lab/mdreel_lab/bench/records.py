"""Records of points: one JSON format for scenarios, exchanges and cases."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from mdreel.errors import FormatError
from mdreel.foundation.atomic_files import replacing

if TYPE_CHECKING:
    from mdreel.timing.timing import Timing

DONE, FAILED, LEFT_OUT = "done", "failed", "left out"
"""Status of a point: it ran; it ran and failed; it cannot run here."""

RECORDS = "records"
"""The folder of records within that of a benchmark."""


class JsonLine:
    """A dataclass that one process writes as a line of JSON for another."""

    def to_json(self) -> str:
        """Return the line."""
        values: Any = self
        return json.dumps(asdict(values))

    @classmethod
    def of_json(cls, text: str) -> Self:
        """Return the object of a line that `to_json` has written."""
        return cls(**json.loads(text))


class AnyPoint(Protocol):
    """A point: a dataclass with all settings that determine one measurement."""

    @property
    def scenario(self) -> str:
        """The name of its scenario or case."""

    @property
    def key(self) -> str:
        """The name of its record, which no other point of the scenario has."""


T = TypeVar("T")
PointT = TypeVar("PointT", bound=AnyPoint)
PointT_co = TypeVar("PointT_co", bound=AnyPoint, covariant=True)


def added(default: Any) -> Any:
    """Return a field of a point that older records lack, which stand for its default."""
    return field(default=default, metadata={"added": True})


def point_of(kind: type[T], values: dict[str, Any]) -> T:
    """Return a point that was written as JSON; settings that were added later have their defaults."""
    dataclass_of: Any = kind
    names = [one.name for one in fields(dataclass_of) if one.name in values or not one.metadata.get("added")]
    return kind(**{name: values[name] for name in names})


def key_of(point: Any, series: str, where: str) -> str:
    """Return the key of a repeat of a series at a place on its axis; other settings give other keys.

    A setting that older points lack does not change the key while it has its default.
    """
    spelled = re.sub(r"[^a-z0-9]+", "-", series.lower()).strip("-")[:60]
    settings = asdict(point)
    for one in fields(point):
        if one.metadata.get("added") and settings[one.name] == one.default:
            del settings[one.name]
    mark = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    return f"{spelled}-{where}-r{point.repeat}-{mark}"


@dataclass(frozen=True)
class Kept(Generic[PointT_co]):
    """The record of a point.

    Attributes
    ----------
    message : str
        Reason why the point failed or was left out.
    seconds : float
        Time for the caller, s: for an analysis, the time of ``run``; for several rounds, their median.
    facts : dict
        Further facts, such as the state of the cache, the check of the result, and the time of each round.
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

    @property
    def lacks_spans(self) -> bool:
        """Whether its spans were recorded, but are not with the record."""
        return self.spans is not None and not self.spans.exists()

    @cached_property
    def timing(self) -> "Timing | None":
        """Its spans; None where there are none."""
        if self.spans is None or self.lacks_spans:
            return None
        from mdreel.timing.files import read_record

        return read_record(self.spans).timing

    @property
    def rounds(self) -> list[float]:
        """The time of each round, s; nothing where it was not done."""
        return list(self.facts.get("rounds", [self.seconds])) if self.status == DONE else []


def place_of(folder: Path, point: AnyPoint) -> Path:
    """Return the path of the record of a point, which need not exist yet."""
    return folder / RECORDS / point.scenario / f"{point.key}.json"


def spans_of(place: Path) -> Path:
    """Return the path of the spans of a record."""
    return place.with_suffix(".spans.jsonl")


def keep(folder: Path, kept: Kept[AnyPoint]) -> None:
    """Write a record atomically."""
    spans = None if kept.spans is None else kept.spans.name
    write_json(place_of(folder, kept.point), asdict(kept) | {"spans": spans})


def find(folder: Path, point: PointT) -> Kept[PointT] | None:
    """Return the record of a point, if there is one."""
    place = place_of(folder, point)
    return of_json(read_json(place), place, point) if place.exists() else None


def of_json(content: Any, place: Path, point: PointT) -> Kept[PointT]:
    """Return the record of a point from its JSON, which was read from a place."""
    try:
        values = {name: value for name, value in content.items() if name != "point"}
        spans = values.pop("spans", None)
        return Kept(point, spans=None if spans is None else place.with_name(spans), **values)
    except (TypeError, AttributeError) as error:
        raise _no_record(place, error) from error


def read_json(place: Path) -> Any:
    """Read a record, or a page of records; raise a `FormatError` if it is incomplete."""
    try:
        return json.loads(place.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _no_record(place, error) from error


def write_json(place: Path, content: Any) -> None:
    """Write JSON atomically."""
    write_text(place, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write_text(place: Path, text: str) -> None:
    """Write a text atomically."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with replacing(place, force=True) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _no_record(place: Path, error: Exception) -> FormatError:
    return FormatError(f"{place}: this is no record of a benchmark: {error}")
