"""Headers of span files."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel.timing.limits import Limits
from mdreel.timing.run_description import RunDescription, description_in_json, description_of_json
from mdreel.timing.spans import COORDINATOR, TASK
from mdreel.timing.workers import Member

if TYPE_CHECKING:
    from mdreel.timing.record import Record

FORMAT = "mdreel spans"
VERSION = 1


@dataclass(frozen=True)
class Header:
    """Header of a file that contains spans.

    Attributes
    ----------
    title : str
        Title of the run.
    n_spans : int
        Number of spans that follow.
    environment : dict
        See `environment_of`.
    limits : Limits or None
        Limits of the machine, if they were measured.
    crew : dict of int to Member
        Process of each worker.
    tasks : ndarray, shape (n_tasks,), TASK
        Tasks that an external scheduler has recorded.
    run : RunDescription or None
        Description of the run, or None in files from older versions.
    missed, n_requested : int
        Numbers of missed frames and requested workers; see `Timing`. They are 0 in files from older versions.
    """

    title: str
    n_spans: int
    environment: dict[str, Any]
    limits: Limits | None
    crew: dict[int, Member]
    tasks: NDArray[np.void]
    run: RunDescription | None
    missed: int
    n_requested: int


def worker_in_json(worker: int) -> int | None:
    """Convert the number of a worker for a file. The caller is stored as None."""
    return None if worker == COORDINATOR else worker


def header_in_json(record: "Record") -> dict[str, Any]:
    """Return the header of a record."""
    timing = record.timing
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": record.title,
        "n_spans": len(timing.spans),
        "missed": timing.missed,
        "n_requested": timing.n_requested,
        "run": description_in_json(record.run),
        "environment": record.environment,
        "limits": None if record.limits is None else asdict(record.limits),
        "crew": [{"worker": worker_in_json(worker), **asdict(member)} for worker, member in timing.crew.items()],
        "tasks": [dict(zip(TASK.names or (), task, strict=True)) for task in timing.tasks.tolist()],
    }


def header_of_json(value: Any) -> Header:
    """Read the header of a file.

    Parameters
    ----------
    value : Any
        The JSON value.

    Returns
    -------
    Header
        The header.

    Raises
    ------
    ValueError
        If the value is not a header, is incomplete, or was written by a newer version.
    """
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise ValueError(f'expected a header with "format": "{FORMAT}"')
    if not _is_number(value.get("version")) or value["version"] < 1:
        raise ValueError(f"version: expected a whole number from 1, got {value.get('version')!r}")
    if value["version"] > VERSION:
        raise ValueError(f"version {value['version']} needs a newer mdreel; this one reads versions up to {VERSION}")
    kinds: dict[str, type] = {"title": str, "n_spans": int, "environment": dict, "crew": list, "tasks": list}
    for name, kind in kinds.items():
        if not isinstance(value.get(name), kind):
            raise ValueError(f"the header needs {name} of type {kind.__name__}")
    numbers = {name: value.get(name, 0) for name in ("missed", "n_requested")}
    for name, number in numbers.items():
        if not _is_number(number) or number < 0:
            raise ValueError(f"{name}: expected a whole number from 0, got {number!r}")
    return Header(
        value["title"],
        value["n_spans"],
        value["environment"],
        _limits(value.get("limits")),
        dict(_member(one) for one in value["crew"]),
        np.array([_task(one) for one in value["tasks"]], TASK),
        description_of_json(value.get("run")),
        **numbers,
    )


def number(value: Any, name: str, largest: int) -> int:
    """Return a non-negative integer. Raise ValueError for any other value."""
    if not _is_number(value) or not 0 <= value <= largest:
        raise ValueError(f"{name}: expected a whole number from 0 to {largest}, got {value!r}")
    return int(value)


def worker_of_json(value: Any) -> int:
    """Return the number of a worker from a file."""
    return COORDINATOR if value is None else number(value, "worker", COORDINATOR - 1)


def check_names(value: Any, kind: str, names: Iterable[str]) -> None:
    """Check that a JSON value is an object that contains at least these names."""
    missing = [name for name in names if not isinstance(value, Mapping) or name not in value]
    if missing:
        raise ValueError(f"{kind}: {', '.join(missing)} missing")


def _limits(value: Any) -> Limits | None:
    if value is None:
        return None
    known = [field.name for field in fields(Limits)]
    check_names(value, "limits", known)
    memory, page_cache, storage, reason = (value[name] for name in known)
    numbers = [memory, *(one for one in (page_cache, storage) if one is not None)]
    if not all(isinstance(one, int | float) for one in numbers) or not isinstance(reason, str):
        raise ValueError("limits: expected numbers, and the reason for missing numbers as text")
    return Limits(memory, page_cache, storage, reason)


def _member(value: Any) -> tuple[int, Member]:
    names = [field.name for field in fields(Member)]
    check_names(value, "member of the crew", ["worker", *names])
    if not isinstance(value["host"], str):
        raise ValueError(f"host: expected a text, got {value['host']!r}")
    process, peak_bytes = (number(value[name], name, 2**63 - 1) for name in names[1:])
    return worker_of_json(value["worker"]), Member(value["host"], process, peak_bytes)


def _task(value: Any) -> tuple[int, ...]:
    names = TASK.names or ()
    check_names(value, "task", names)
    return tuple(number(value[name], name, np.iinfo(TASK[name]).max) for name in names)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
