"""Passages of Python files: the paragraphs of docstrings, and help texts of command lines."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from tasks.prose.passages import CODE, Passage

_HELP = ("help", "short_help", "epilog")
_SETTINGS = ("entry",)
"""Functions whose first argument describes a setting of a file."""
_NAMED = {"Parameters", "Other Parameters", "Returns", "Yields", "Receives", "Raises", "Warns", "Attributes", "Methods"}
"""Sections of numpydoc in which only the indented lines are prose."""
_CODE_SECTIONS = {"Examples", "References", "See Also"}

Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def python_passages(path: Path, text: str, waivers: dict[int, frozenset[str]]) -> Iterator[Passage]:
    """Yield the paragraphs of docstrings and the help texts of a Python file."""
    for node in ast.walk(ast.parse(text, filename=str(path))):
        if isinstance(node, Definition) and ast.get_docstring(node) is not None:
            statement = node.body[0]
            assert isinstance(statement, ast.Expr)
            assert isinstance(statement.value, ast.Constant)
            is_first = True
            for lines in _paragraphs(str(statement.value.value), statement.lineno):
                kind = _kind_of_summary(node) if is_first else "docstring"
                is_first = False
                yield Passage(path, kind, lines, waivers)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in _SETTINGS and node.args:
                described = _text_of(node.args[0])
                if described:
                    yield Passage(path, "help", ((node.args[0].lineno, described),), waivers)
            for keyword in node.keywords:
                help_text = _text_of(keyword.value) if keyword.arg in _HELP else None
                if help_text:
                    yield Passage(path, "help", ((keyword.value.lineno, help_text),), waivers)


def _kind_of_summary(node: Definition) -> str:
    if isinstance(node, ast.Module):
        return "module"
    if isinstance(node, ast.ClassDef):
        return "docstring"
    decorators = [ast.unparse(one) for one in node.decorator_list]
    return "docstring" if any("property" in one or one.endswith(".setter") for one in decorators) else "summary"


def _paragraphs(docstring: str, first_line: int) -> Iterator[tuple[tuple[int, str], ...]]:
    """Yield the paragraphs of prose, as lines with their numbers."""
    lines = inspect.cleandoc(docstring).splitlines()
    # cleandoc removes blank lines at the beginning.
    first_line += len(docstring) - len(docstring.lstrip()) and docstring[
        : len(docstring) - len(docstring.lstrip())
    ].count("\n")
    section, literal_indent = "", None
    open_lines: list[tuple[int, str]] = []
    for at, line in enumerate([*lines, ""]):
        indent = len(line) - len(line.lstrip())
        underline = lines[at + 1].strip() if at + 1 < len(lines) else ""
        if literal_indent is not None and (not line.strip() or indent > literal_indent):
            continue
        literal_indent = None
        if line.strip() and re.fullmatch(r"-{3,}|={3,}", underline):
            section = line.strip()
        elif re.fullmatch(r"-{3,}|={3,}", line.strip()):
            continue
        elif line.strip().startswith(".. "):
            literal_indent = indent
        elif section not in _CODE_SECTIONS and line.strip() and not (section in _NAMED and indent == 0):
            if re.match(r"\s*(?:[-*]|\d+\.)\s", line) and open_lines:
                yield tuple(open_lines)
                open_lines = []
            open_lines.append((first_line + at, re.sub(r"^(?:[-*]|\d+\.)\s+", "", line.strip())))
            if line.rstrip().endswith("::"):
                literal_indent = indent
            else:
                continue
        if open_lines:
            yield tuple(open_lines)
            open_lines = []


def _text_of(value: ast.expr) -> str | None:
    """Return the text of a string, also of one with expressions in it; None for anything else."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value.replace("\n", " ")
    if isinstance(value, ast.JoinedStr):
        parts = [str(one.value) if isinstance(one, ast.Constant) else CODE for one in value.values]
        return "".join(parts).replace("\n", " ")
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        left, right = _text_of(value.left), _text_of(value.right)
        return (CODE if left is None else left) + (CODE if right is None else right)
    return None
