"""Tables as comma-separated values (RFC 4180, with Unix line endings)."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mdreel.results.column import Column


def write(path: Path, columns: Sequence[Column], metadata: Mapping[str, Any]) -> None:
    """Write one header line with names and units, and one line per row. Every float64 is read back exactly.

    The file does not contain `metadata`, because most CSV readers fail on comment lines.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(column.heading for column in columns)
        writer.writerows(zip(*(column.values.tolist() for column in columns), strict=True))
