"""Tables as NumPy archives (NPZ)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mdreel.results.column import Column


def write(path: Path, columns: Sequence[Column], metadata: Mapping[str, Any]) -> None:
    """Write one array per column. The string ``metadata`` contains the metadata and the units as JSON."""
    described = {**metadata, "units": {column.name: column.unit for column in columns}}
    arrays = {column.name: np.asarray(column.values) for column in columns}
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, metadata=np.array(json.dumps(described)), **arrays)
