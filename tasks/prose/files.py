"""The files that the prose check reads, and the passages of each."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tasks.prose.docstrings import python_passages
from tasks.prose.markdown import markdown_passages
from tasks.prose.passages import Passage
from tasks.prose.toml_texts import toml_passages

_WAIVER = re.compile(r"(?:<!--|#) prose: allow(?: ([\w, -]+?))?\s*(?:-->|$)")


def select_files(root: Path, patterns: Sequence[str], exclude: Sequence[str]) -> list[Path]:
    """Return the files that match a pattern and no pattern of `exclude`, without those that Git ignores, sorted."""
    left_out = {path for pattern in exclude for path in root.glob(pattern)}
    found = {path for pattern in patterns for path in root.glob(pattern) if path.is_file()} - left_out
    return sorted(found - _ignored(root, found))


def read_passages(path: Path) -> list[Passage]:
    """Return the passages of a Markdown, Python or TOML file."""
    text = path.read_text(encoding="utf-8")
    readers = {".py": python_passages, ".pyi": python_passages, ".toml": toml_passages}
    return list(readers.get(path.suffix, markdown_passages)(path, text, _waivers(text)))


def _ignored(root: Path, paths: Iterable[Path]) -> set[Path]:
    """Return the files that Git ignores, such as generated pages; none outside a repository."""
    names = "\0".join(str(path.relative_to(root)) for path in paths)
    command = ["git", "check-ignore", "--stdin", "-z"]
    try:
        done = subprocess.run(command, cwd=root, input=names, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return set()
    return {root / name for name in done.stdout.split("\0") if name}


def _waivers(text: str) -> dict[int, frozenset[str]]:
    """Return the rules that comments waive, by line; a comment without names waives all."""
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _WAIVER.search(line)
        if match:
            found[number] = frozenset(re.split(r"[\s,]+", match[1].strip())) if match[1] else frozenset({"all"})
    return found
