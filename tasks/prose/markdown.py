"""Passages of Markdown documents: paragraphs, list items, headings and table cells, without code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tasks.prose.passages import Passage

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})(.*)$")
_PROSE_DIRECTIVES = ("note", "tip", "warning", "important", "caution", "seealso", "admonition", "dropdown")
_MARKERS = re.compile(r"^(?::::|\+\+\+|\([\w-]+\)=|:[\w-]+:( |$))")
_ITEM = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_DELIMITERS = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_NO_PROSE = (
    re.compile(r"\A---\n.*?\n---\n", re.DOTALL),
    re.compile(r"<!-- ([\w-]+):begin -->.*?<!-- \1:end -->", re.DOTALL),
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^\$\$.*?\$\$", re.DOTALL | re.MULTILINE),
)


def markdown_passages(path: Path, text: str, waivers: dict[int, frozenset[str]]) -> Iterator[Passage]:
    """Yield the passages of a Markdown document."""
    for pattern in _NO_PROSE:
        text = pattern.sub(lambda match: re.sub(r"[^\n]", "", match[0]), text)
    open_lines: list[tuple[int, str]] = []
    lines = [*_lines_without_code(text), ""]
    for number, line in enumerate(lines[:-1], start=1):
        bare = line.strip().lstrip(">").strip()
        kind = _kind_of_line(bare, lines[number])
        if kind != "text" and open_lines:
            yield Passage(path, "paragraph", tuple(open_lines), waivers)
            open_lines = []
        if kind in ("text", "item"):
            open_lines.append((number, _ITEM.sub("", bare)))
        elif kind == "heading":
            yield Passage(path, kind, ((number, _HEADING.sub(r"\1", bare)),), waivers)
        elif kind in ("header", "cell"):
            for cell in re.split(r"(?<!\\)\|", bare.strip("|")):
                yield Passage(path, kind, ((number, cell.strip()),), waivers)
    if open_lines:
        yield Passage(path, "paragraph", tuple(open_lines), waivers)


def _lines_without_code(text: str) -> Iterator[str]:
    """Yield the lines of a document; those of code and the fences of admonitions are empty."""
    code, prose = "", ""
    for line in text.splitlines():
        match = _FENCE.match(line)
        yield "" if code or match else line
        if match is None:
            continue
        closes = not match[2].strip()
        if code:
            code = "" if closes and match[1].startswith(code) else code
        elif prose and closes and match[1].startswith(prose):
            prose = ""
        elif re.match(rf"\s*\{{(?:{'|'.join(_PROSE_DIRECTIVES)})\}}", match[2]):
            prose = match[1]
        else:
            code = match[1]


def _kind_of_line(bare: str, following: str) -> str:
    if not bare or _MARKERS.match(bare):
        return "blank"
    if _HEADING.match(bare):
        return "heading"
    if bare.startswith("|"):
        if _DELIMITERS.match(bare):
            return "blank"
        return "header" if _DELIMITERS.match(following.strip() or "text") else "cell"
    return "item" if _ITEM.match(bare) else "text"
