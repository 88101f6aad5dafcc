"""Code blocks of the pages: which of them run, in which order, and with which reason others do not."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from architecture.checkout import ROOT, tracked_files

RUN = {"python", "sh", "console"}
"""Languages of blocks that run. A console block holds commands after "$ ", each with its output below."""

OTHER = {"text", "toml", "yaml", "json", "csv", "rust", "bash", "c", "html", "bibtex", "{mermaid}"}
"""Languages of blocks that hold output, files or code of other programs."""

BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w{}-]*)[^\n]*\n(?P<code>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
REASON = re.compile(r"<!-- (?P<reason>(?:needs|shows|waits) [^>]+) -->\s*\Z")
"""The comment above a block that is not run: what it needs, what it shows, or what it waits for."""
FILE = re.compile(r"<!-- file: (?P<name>\S+) -->\s*\Z")
"""The comment above a block that is written to a file, which the blocks below use."""


INSTALLS = re.compile(r"\b(?:pip|conda|mamba|apt|apt-get) install\b|-m venv\b|\bmodule load\b")
"""Commands that change the environment, which no test may run."""


@dataclass(frozen=True)
class Block:
    """A block of a page, with the number of its first line, its file, and the reason if it is not run."""

    language: str
    code: str
    line: int
    file: str | None
    reason: str | None

    @property
    def is_run(self) -> bool:
        """Whether the block runs, or is written to a file that others use."""
        return self.file is not None or (self.language in RUN and self.reason is None)


def pages() -> list[Path]:
    """The README and the pages of the site, without the design documents, which show no examples."""
    found = [path for path in tracked_files(".md") if path.is_relative_to(ROOT / "docs")]
    found = [path for path in found if not path.is_relative_to(ROOT / "docs" / "design")]
    return [ROOT / "README.md", *(path for path in found if "{code-cell}" not in path.read_text(encoding="utf-8"))]


def blocks(path: Path) -> Iterator[Block]:
    """Yield the blocks of a page."""
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        reason, file = (pattern.search(text, 0, match.start()) for pattern in (REASON, FILE))
        code = re.sub(f"^{match['indent']}", "", match["code"], flags=re.MULTILINE)
        line = text.count("\n", 0, match.start("code")) + 1
        yield Block(match["language"], code, line, file and file["name"], reason and reason["reason"])


def commands(code: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block, each with the lines of its output."""
    found: list[tuple[str, list[str]]] = []
    continued = False
    for line in code.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        elif continued:
            found[-1] = (f"{found[-1][0]}\n{line.removeprefix('> ')}", [])
        elif found:
            found[-1][1].append(line)
        continued = line.endswith("\\")
    return found


def outline(line: str) -> str:
    """Return a line of output without what differs between runs, and without its spacing.

    This is each number, also as in "< 1", and whether one thread or several had work in a short run.
    """
    line = re.sub(r"(?:< )?[-+]?\d[\d.,:e+-]*", "#", line)
    return " ".join(line.replace("# threads", "# thread").split())
