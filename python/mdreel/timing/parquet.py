"""Spans in Apache Parquet format, which requires the optional package pyarrow."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import FormatError
from mdreel.timing.header import Header, header_in_json, header_of_json
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN

if TYPE_CHECKING:
    from mdreel.timing.record import Record

_HEADER = b"mdreel"
_NULL_VALUES = {"block": NO_BLOCK, "worker": COORDINATOR}
"""Values that are stored as null in the file."""


def write(path: Path, record: "Record") -> None:
    """Write one column per field of the spans, and the header as JSON in the entry ``mdreel`` of the schema."""
    import pyarrow
    import pyarrow.parquet

    spans = record.timing.spans
    columns = {"kind": pyarrow.DictionaryArray.from_arrays(spans["kind"].astype(np.int8), list(KINDS))}
    for name in (SPAN.names or ())[1:]:
        values = np.ascontiguousarray(spans[name])
        mask = values == _NULL_VALUES[name] if name in _NULL_VALUES else None
        columns[name] = pyarrow.array(values, mask=mask)
    header = json.dumps(header_in_json(record), ensure_ascii=False, allow_nan=False)
    table = pyarrow.table(columns).replace_schema_metadata({_HEADER: header})
    with path.open("wb") as file:
        pyarrow.parquet.write_table(table, file)


def read(path: Path) -> tuple[Header, NDArray[np.void]]:
    """Read the header and the spans.

    Raises
    ------
    FormatError
        If the file is incomplete, is not a record, or was written by a newer version. The message contains the row
        number.
    """
    import pyarrow
    import pyarrow.parquet

    with path.open("rb") as file:
        try:
            table = pyarrow.parquet.read_table(file)
            header = header_of_json(json.loads((table.schema.metadata or {}).get(_HEADER, b"null")))
            spans = _spans(table)
        except (pyarrow.ArrowException, OSError, ValueError, RecursionError) as error:
            raise FormatError(f"not a Parquet file of spans: {' '.join(str(error).split())}", path=path) from error
    if len(spans) != header.n_spans:
        raise FormatError(f"the file has {len(spans)} spans, the header says {header.n_spans}", path=path)
    return header, spans


def _spans(table: Any) -> NDArray[np.void]:
    import pyarrow
    import pyarrow.compute

    missing = [name for name in SPAN.names or () if name not in table.column_names]
    if missing:
        raise ValueError(f"missing column {', '.join(missing)}")
    kinds = pyarrow.compute.index_in(table["kind"].cast(pyarrow.string()), value_set=pyarrow.array(KINDS))
    spans = np.empty(table.num_rows, SPAN)
    spans["kind"] = _filled("kind", kinds)
    for name in (SPAN.names or ())[1:]:
        column = table[name]
        if name in _NULL_VALUES:
            column = pyarrow.compute.fill_null(column, _NULL_VALUES[name])
        spans[name] = _filled(name, column)
    backwards = np.flatnonzero(spans["stop_ns"] < spans["start_ns"])
    if len(backwards):
        raise ValueError(f"row {backwards[0]}: the span ends before its start")
    return spans


def _filled(name: str, column: Any) -> NDArray[np.integer]:
    """Return a column of integers. Raise an error if a value is missing."""
    import pyarrow

    if not pyarrow.types.is_integer(column.type):
        raise ValueError(f"{name}: expected whole numbers, got {column.type}")
    values = column.cast(pyarrow.uint64())
    if values.null_count:
        row = int(np.flatnonzero(values.is_null().to_numpy())[0])
        raise ValueError(f"row {row}: {name}: {'unknown kind' if name == 'kind' else 'missing value'}")
    array: NDArray[np.integer] = values.to_numpy()
    largest = np.iinfo(SPAN[name]).max
    if len(array) and int(array.max()) > largest:
        raise ValueError(f"row {int(array.argmax())}: {name}: expected at most {largest}, got {array.max()}")
    return array
