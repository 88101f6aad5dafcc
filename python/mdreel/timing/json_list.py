"""Streaming of long JSON lists."""

import json
from collections.abc import Iterable
from typing import Any, TextIO


def in_json(value: Any) -> str:
    """Return a value as JSON without spaces. Raise ValueError for NaN, which JSON does not support."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def write_list(file: TextIO, items: Iterable[Any]) -> None:
    """Write a list with one item per line."""
    file.write("[")
    file.writelines((",\n" if i else "\n") + in_json(item) for i, item in enumerate(items))
    file.write("\n]")
