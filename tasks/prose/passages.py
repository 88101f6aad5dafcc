"""Passages of prose with their place in a file, cut into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CODE = "\N{CURRENCY SIGN}"
"""Stands for inline code and formulas, so that a rule sees one word."""
_HIDDEN = "\N{ZERO WIDTH SPACE}"
"""Stands for markup, so that positions in the text stay the same."""

_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_FORMULA = re.compile(r"\$[^\s$](?:[^$]*[^\s$])?\$")
_ROLE = re.compile(r"(?::[\w:+-]+:|\{[\w:+-]+\})(?=`)")
_MARKUP = re.compile(
    r"!?\[(?=[^\]]*\]\()|\]\([^)]*\)|\]\[[^\]]*\]|</?[a-zA-Z][^>]*>|\*\*|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)"
)
_ADDRESS = re.compile(r"<?https?://[^\s>)]+>?")
_ABBREVIATIONS = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|al|Fig|Figs|Eq|Eqs|Sec|Ref|Dr|No|pp|approx|Proc|Conf|Comput|Chem|Cryst|[A-Z]))\.$"
)
_NAMES = "mdreel|mdtraj|molly|xdrfile"
"""Names in lower case that begin sentences."""
_END = re.compile(r"[.!?][\"')\]*_\u200b]*(?=\s+[\"'(\[\u200b*_]*(?:[A-Z0-9" + CODE + rf"]|(?:{_NAMES})\b)|\s*$)")


@dataclass(frozen=True)
class Sentence:
    """A sentence without markup, and the lines of the file where it begins and ends."""

    text: str
    first_line: int
    last_line: int


@dataclass(frozen=True)
class Passage:
    """A paragraph, list item, heading, table cell, docstring paragraph or help text.

    Attributes
    ----------
    path : Path
        The file.
    kind : str
        "paragraph", "heading", "header" (of a table), "cell", "docstring", "summary" (first paragraph of the docstring
        of a function), "module" (that of a module) or "help".
    lines : tuple of (int, str)
        The lines of the passage, each with its number.
    waivers : dict
        For each line of the file with a waiver the names of the rules; "all" stands for every rule.
    """

    path: Path
    kind: str
    lines: tuple[tuple[int, str], ...]
    waivers: dict[int, frozenset[str]]

    def sentences(self) -> Iterator[Sentence]:
        """Yield the sentences of the passage."""
        masked = _mask(" ".join(text for _, text in self.lines))
        starts, at = [], 0
        for number, text in self.lines:
            starts.append((at, number))
            at += len(text) + 1

        def line_of(position: int) -> int:
            return max((number for start, number in starts if start <= position), default=1)

        begin = 0
        ends = [
            match.end() for match in _END.finditer(masked) if not _ABBREVIATIONS.search(masked[: match.start() + 1])
        ]
        for end in [*ends, len(masked)]:
            text = " ".join(masked[begin:end].replace(_HIDDEN, "").split())
            if text:
                first = begin + len(masked[begin:end]) - len(masked[begin:end].lstrip())
                yield Sentence(text, line_of(first), line_of(max(first, end - 1)))
            begin = end

    def waives(self, rule: str, sentence: Sentence) -> bool:
        """Return whether a comment in the lines of the sentence, or in the line above it, waives the rule."""
        names = [self.waivers.get(line, frozenset()) for line in range(sentence.first_line - 1, sentence.last_line + 1)]
        return any({"all", rule} & waived for waived in names)


def _mask(text: str) -> str:
    """Replace code by a placeholder and markup by hidden characters; keep the length."""
    text = _ROLE.sub(lambda match: _HIDDEN * len(match[0]), text)
    for pattern in (_CODE, _FORMULA):
        text = pattern.sub(lambda match: CODE * len(match[0]), text)
    text = _MARKUP.sub(lambda match: _HIDDEN * len(match[0]), text)
    return _ADDRESS.sub(lambda match: CODE * len(match[0]), text)
