"""Table with the versions, the machine and the files."""

from collections.abc import Iterator, Mapping
from typing import Any

from mdreel.foundation.formatting import BYTES, amount, percent
from mdreel.foundation.html.markup import Markup, element, table, together
from mdreel.timing.report.card import card
from mdreel.timing.report.term import term

_LABELS = {
    "mdreel": "mdreel",
    "commit": "commit",
    "date": "date",
    "hostname": "host",
    "cpu": "CPU",
    "n_cores": "cores",
    "memory_bytes": "memory",
    "kernel": "kernel",
    "python": "Python",
    "versions": "packages",
}
_OF_FILES = ("file", "size", "file system", "mounted at")
_MOST_FILES = 200
_WORDS = {None: "unknown", True: "yes", False: "no"}


def environment_table(environment: Mapping[str, Any]) -> Markup:
    """Return a table of the environment of a run.

    Parameters
    ----------
    environment : mapping
        Recorded environment. Entries that are not in `_LABELS` are shown under their own names.
    """
    if not environment:
        return card("environment", "Environment", note="The record contains no environment.")
    facts = element("div", table(("property", "value"), _facts(environment), class_="facts"), class_="scroll")
    parts = [facts]
    if files := _files(environment):
        rows = [_file(file) for file in files[:_MOST_FILES]]
        if len(files) > _MOST_FILES:
            rows.append((f"and {len(files) - _MOST_FILES:,} more files", *[""] * (len(_OF_FILES) + 1)))
        names = (*_OF_FILES, term("stripes"), together("in the ", term("page cache")))
        # A narrow screen shows a file in several lines, each with the name of its column.
        parts.append(table(names, rows, class_="facts files", labels=names))
    return card("environment", "Environment", *parts)


def _facts(environment: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    known = [name for name in _LABELS if name in environment]
    for name in (*known, *sorted(set(environment) - {*known, "files"})):
        value = environment[name]
        yield _LABELS.get(name, name), _size(value) if name == "memory_bytes" else _text(value)


def _file(file: Mapping[str, Any]) -> tuple[str, ...]:
    share = file.get("cached_share")
    return (
        _text(file.get("path")),
        _size(file.get("n_bytes")),
        _text(file.get("file_system")),
        _text(file.get("mount")),
        "none" if file.get("stripe") is None else _text(file["stripe"]),
        percent(share) if isinstance(share, int | float) else _text(share),
    )


def _files(environment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    files = environment.get("files")
    return [file for file in files if isinstance(file, Mapping)] if isinstance(files, list) else []


def _size(value: Any) -> str:
    return amount(value, BYTES) if isinstance(value, int | float) else _text(value)


def _text(value: Any) -> str:
    match value:
        case None | bool():
            return _WORDS[value]
        case str():
            return value
        case Mapping():
            return ", ".join(f"{name} {_text(own)}" for name, own in value.items()) or "none"
        case list() | tuple():
            return ", ".join(map(_text, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)
