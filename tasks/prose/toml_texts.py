"""Passages of scenario files: their titles, descriptions and claims."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tasks.prose.passages import Passage

_TEXT = re.compile(
    r'^(?P<key>title|about|text) = (?:"""\n(?P<several>.*?)"""|"(?P<single>[^"\n]*)")', re.MULTILINE | re.DOTALL
)


def toml_passages(path: Path, text: str, waivers: dict[int, frozenset[str]]) -> Iterator[Passage]:
    """Yield the texts of a TOML file that appear in reports."""
    for match in _TEXT.finditer(text):
        name = "several" if match["several"] is not None else "single"
        first = text.count("\n", 0, match.start(name)) + 1
        lines = tuple(enumerate(match[name].rstrip("\n").split("\n"), start=first))
        yield Passage(path, "heading" if match["key"] == "title" else "paragraph", lines, waivers)
