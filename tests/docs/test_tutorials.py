"""Cells of the tutorials also run when they are pasted at the Python prompt."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

from architecture.checkout import ROOT

CELL = re.compile(r"^```\{code-cell\} python3\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
TUTORIALS = sorted(path for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.name != "index.md")
COMPOUND = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)


def cells(text: str) -> list[str]:
    """Return the cells that hold Python, without the options of a cell."""
    found = [re.sub(r"\A(?::.*\n)+", "", match["code"]) for match in CELL.finditer(text)]
    return [code for code in found if not code.lstrip().startswith("%%")]


def unended_blocks(code: str) -> list[str]:
    """Return the statements that follow a block without the empty line that ends the block at the prompt."""
    lines, body = code.splitlines(), ast.parse(code).body
    return [
        lines[after.lineno - 1]
        for block, after in pairwise(body)
        if isinstance(block, COMPOUND) and after.lineno == (block.end_lineno or 0) + 1
    ]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_blocks_in_cells_end_with_an_empty_line(page: Path) -> None:
    found = cells(page.read_text(encoding="utf-8"))
    assert len(found) >= 3
    assert [line for code in found for line in unended_blocks(code)] == []


def test_missing_empty_line_is_found() -> None:
    assert unended_blocks("for i in range(3):\n    print(i)\nprint()\n") == ["print()"]
    assert unended_blocks("for i in range(3):\n    print(i)\n\nprint()\n") == []
