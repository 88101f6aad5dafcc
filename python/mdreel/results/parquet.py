"""Tables as Apache Parquet, written with the optional package pyarrow."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mdreel.results.column import Column


def write(path: Path, columns: Sequence[Column], metadata: Mapping[str, Any]) -> None:
    """Write one field per column, with its unit. The schema's ``mdreel`` entry contains the metadata as JSON."""
    import pyarrow
    import pyarrow.parquet

    arrays = [pyarrow.array(column.values) for column in columns]
    fields = [
        pyarrow.field(column.name, array.type, metadata={"unit": column.unit})
        for column, array in zip(columns, arrays, strict=True)
    ]
    schema = pyarrow.schema(fields, metadata={"mdreel": json.dumps(dict(metadata))})
    with path.open("wb") as file:
        pyarrow.parquet.write_table(pyarrow.table(arrays, schema=schema), file)
