"""Tables as JSON (RFC 8259)."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mdreel.results.column import Column


def write(path: Path, columns: Sequence[Column], metadata: Mapping[str, Any]) -> None:
    """Write metadata, units and columns. Every float64 is read back exactly. NaN and infinity become null."""
    table = {
        "metadata": dict(metadata),
        "units": {column.name: column.unit for column in columns},
        "columns": {column.name: [_finite(value) for value in column.values.tolist()] for column in columns},
    }
    with path.open("w", encoding="utf-8") as file:
        json.dump(table, file, ensure_ascii=False, allow_nan=False)
        file.write("\n")


def _finite(value: int | float | str) -> int | float | str | None:
    return value if isinstance(value, str) or math.isfinite(value) else None
