"""Tables as comma-separated values (RFC 4180, with Unix line endings)."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mdreel.results.column import Column


def write(path: Path, columns: Sequence[Column], metadata: Mapping[str, Any]) -> None:
    """Write one line of headings with units and one line for each frame; every float64 is read back exactly.

    There is no place for `metadata`: comment lines would stop most programs that read CSV.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(column.heading for column in columns)
        writer.writerows(zip(*(column.values.tolist() for column in columns), strict=True))
