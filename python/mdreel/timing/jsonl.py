"""Spans in JSON lines format, with a header followed by one line per span."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import FormatError
from mdreel.timing.header import (
    Header,
    check_names,
    header_in_json,
    header_of_json,
    number,
    worker_of_json,
)
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN

if TYPE_CHECKING:
    from mdreel.timing.record import Record

_NAMES = SPAN.names or ()
_NUMBERS = {kind: i for i, kind in enumerate(KINDS)}
# Formatted by hand, which takes a third of the time.
_LINE = '{"kind":"%s",' + ",".join(f'"{name}":%s' for name in _NAMES[1:]) + "}\n"


def write(path: Path, record: "Record") -> None:
    """Write a header and one line per span. A missing block, and the caller as a worker, are written as null."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(header_in_json(record), ensure_ascii=False, allow_nan=False) + "\n")
        file.writelines(_lines(record.timing.spans))


def read(path: Path) -> tuple[Header, NDArray[np.void]]:
    """Read the header and the spans.

    Raises
    ------
    FormatError
        When the file is incomplete, is not a record, or was written by a newer version. You will find the line number
        in the message.
    """
    header = None
    rows: list[tuple[int, ...]] = []
    with path.open("rb") as file:
        try:
            header = header_of_json(_json(file.readline()))
            rows.extend(_row(_json(line)) for line in file)  # lazy: after an error, `rows` holds the valid ones
        except (ValueError, RecursionError) as error:
            at = 1 if header is None else len(rows) + 2
            raise FormatError(f"line {at}: {error}", path=path) from error
    n_rows = len(rows)
    if n_rows != header.n_spans:
        raise FormatError(
            f"line {n_rows + 1}: the file has {n_rows} spans, the header says {header.n_spans}", path=path
        )
    return header, np.array(rows, SPAN)


def _lines(spans: NDArray[np.void]) -> Iterator[str]:
    for kind, block, worker, *rest in spans.tolist():
        whose = ("null" if block == NO_BLOCK else block, "null" if worker == COORDINATOR else worker)
        yield _LINE % (KINDS[kind], *whose, *rest)


def _json(line: bytes) -> Any:
    if not line.endswith(b"\n"):
        raise ValueError("the file ends within the line" if line else "the file is empty")
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"invalid JSON: {error.msg}, at character {error.pos}") from None


def _row(value: Any) -> tuple[int, ...]:
    check_names(value, "span", _NAMES)
    kind, block, worker = value["kind"], value["block"], value["worker"]
    if not isinstance(kind, str) or kind not in _NUMBERS:
        raise ValueError(f"unknown kind {kind!r}; known: {', '.join(KINDS)}")
    rest = tuple(number(value[name], name, 2**64 - 1) for name in _NAMES[3:])
    if rest[1] < rest[0]:
        raise ValueError(f"the span ends at {rest[1]} ns, before its start at {rest[0]} ns")
    block = NO_BLOCK if block is None else number(block, "block", NO_BLOCK - 1)
    return _NUMBERS[kind], block, worker_of_json(worker), *rest
