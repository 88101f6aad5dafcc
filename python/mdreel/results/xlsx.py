"""Tables as Excel workbooks, written with the optional package openpyxl."""

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mdreel.errors import UnsupportedError
from mdreel.foundation.printable import printable
from mdreel.results.column import Column

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
"""Size limits for a sheet."""

_LONGEST_TEXT = 32_767
"""Size limit for the text in a cell, in characters."""


def write(path: Path, columns: Sequence[Column], metadata: Mapping[str, Any]) -> None:
    """Write the sheet ``results`` with one header line and the rows, and the sheet ``metadata``.

    Excel keeps 16 digits of a number. NaN and infinity become empty cells. Text is stored as text, even if it starts
    with ``=``, and control characters in text are escaped. If a text in the metadata is too long for a cell, it
    continues in the next cell.

    Raises
    ------
    UnsupportedError
        If the table exceeds the size limits for a sheet.
    """
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    n_rows, n_columns = len(columns[0].values) + 1, len(columns)
    if n_rows > MOST_ROWS or n_columns > MOST_COLUMNS:
        limit = f"a sheet of Excel has at most {MOST_ROWS:,} rows and {MOST_COLUMNS:,} columns"
        message = f"the table has {n_rows:,} rows and {n_columns:,} columns, {limit}: use .parquet or .csv"
        raise UnsupportedError(message)
    book = Workbook(write_only=True)
    results, described = book.create_sheet("results"), book.create_sheet("metadata")

    def cell(sheet: Any, value: object) -> Any:
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        made = WriteOnlyCell(sheet, printable(str(value)))
        made.data_type = "s"  # openpyxl takes text that begins with "=" for a formula
        return made

    results.append([cell(results, column.heading) for column in columns])
    for row in zip(*(column.values.tolist() for column in columns), strict=True):
        results.append([cell(results, value) for value in row])
    for name, value in metadata.items():
        described.append([cell(described, one) for one in (name, *_pieces(value))])
    # Written in memory first: a ZIP file that cannot be completed writes again when it is collected.
    memory = io.BytesIO()
    book.save(memory)
    path.write_bytes(memory.getvalue())


def _pieces(value: object) -> list[object]:
    """Split a metadata value into pieces that fit into cells."""
    if not isinstance(value, str) or len(value) <= _LONGEST_TEXT // 10:  # an escaped character takes up to ten
        return [value]
    size = _LONGEST_TEXT // 10
    return [value[first : first + size] for first in range(0, len(value), size)]
