"""The files that the prose check reads, and the passages of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tasks.prose.docstrings import python_passages
from tasks.prose.markdown import markdown_passages
from tasks.prose.passages import Passage

_WAIVER = re.compile(r"(?:<!--|#) prose: allow(?: ([\w, -]+?))?\s*(?:-->|$)")


def select_files(root: Path, patterns: Sequence[str], exclude: Sequence[str]) -> list[Path]:
    """Return the files that match a pattern and no pattern of `exclude`, sorted."""
    left_out = {path for pattern in exclude for path in root.glob(pattern)}
    return sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()} - left_out)


def read_passages(path: Path) -> list[Passage]:
    """Return the passages of a Markdown or Python file."""
    text = path.read_text(encoding="utf-8")
    read = python_passages if path.suffix in (".py", ".pyi") else markdown_passages
    return list(read(path, text, _waivers(text)))


def _waivers(text: str) -> dict[int, frozenset[str]]:
    """Return the rules that comments waive, by line; a comment without names waives all."""
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _WAIVER.search(line)
        if match:
            found[number] = frozenset(re.split(r"[\s,]+", match[1].strip())) if match[1] else frozenset({"all"})
    return found
