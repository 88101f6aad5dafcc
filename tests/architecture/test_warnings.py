"""Warnings have a category of mdreel, so that the command line shows them and users can select them."""

import ast

import pytest

from architecture.checkout import PACKAGE, package_files, syntax_tree, where
from mdreel import errors

CATEGORIES = {name for name in vars(errors) if name.endswith("Warning")}
OTHERS = {"DeprecationWarning"}
"""For programmers: names that MDAnalysis has deprecated."""


def warnings_without_category(tree: ast.Module) -> list[int]:
    """Lines of calls of `warnings.warn` whose category is not one of mdreel's."""
    lines = []
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) in ("warnings.warn", "warn")):
            continue
        given = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "category")]
        name = ast.unparse(given[0]).rpartition(".")[2] if given else ""
        of_call = isinstance(node.args[0], ast.Call) and ast.unparse(node.args[0].func)
        if not {name, of_call} & (CATEGORIES | OTHERS | {"category"}):
            lines.append(node.lineno)
    return lines


def test_every_warning_has_a_category_of_mdreel() -> None:
    wrong = []
    for path in package_files():
        if path.is_relative_to(PACKAGE):
            wrong += [where(path, line) for line in warnings_without_category(syntax_tree(path))]
    assert not wrong, "give MdreelWarning, or a category below it:\n" + "\n".join(wrong)


def test_categories_have_one_base() -> None:
    assert all(issubclass(getattr(errors, name), errors.MdreelWarning) for name in CATEGORIES)
    assert issubclass(errors.MdreelWarning, UserWarning)


@pytest.mark.parametrize(
    ("line", "is_wrong"),
    [
        ("warnings.warn('text')", True),
        ("warnings.warn('text', stacklevel=2)", True),
        ("warnings.warn('text', UserWarning)", True),
        ("warnings.warn('text', category=UserWarning)", True),
        ("warnings.warn('text', RangeWarning, stacklevel=2)", False),
        ("warnings.warn('text', errors.RangeWarning)", False),
        ("warnings.warn('text', self.category)", False),
        ("warnings.warn(UnansweredRequestWarning('text'))", False),
    ],
)
def test_wrong_categories_are_found(line: str, is_wrong: bool) -> None:
    assert bool(warnings_without_category(ast.parse(line))) == is_wrong
