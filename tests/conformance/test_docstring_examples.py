"""The examples in docstrings: each public name has one, and all of them run as a user would paste them."""

import ast
import doctest
import importlib
import inspect
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
import pytest

from architecture.checkout import ROOT

PACKAGES = (
    "mdreel",
    "mdreel.analysis",
    "mdreel.cluster",
    "mdreel.errors",
    "mdreel.live",
    "mdreel.mdanalysis",
    "mdreel.results",
    "mdreel.trajectory",
    "mdreel.transformations",
)
NEEDED = {"Dask": "distributed", "repack": "h5py", "to_dataframe": "pandas", "to_xarray": "xarray"}
"""Optional packages that the example of a name needs."""
PACKAGE = ROOT / "python" / "mdreel"


def public_objects() -> dict[str, Any]:
    """Return all public classes and functions by their full names."""
    found: dict[str, Any] = {}
    for package in map(importlib.import_module, PACKAGES):
        names = getattr(package, "__all__", None) or [
            name for name, value in vars(package).items() if getattr(value, "__module__", "") == package.__name__
        ]
        for name in names:
            value = getattr(package, name)
            if not name.startswith("_") and not isinstance(value, ModuleType | str):
                found.setdefault(f"{value.__module__}.{value.__qualname__}", value)
    return found


def documented(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the name and the docstring of a module, and of each of its classes and functions."""
    yield "module", ast.get_docstring(tree) or ""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name, ast.get_docstring(node) or ""


def modules_with_examples() -> dict[str, list[doctest.DocTest]]:
    """Return the examples of each module that has some, by its path in the package."""
    parser = doctest.DocTestParser()
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if ">>>" in text:
            pairs = [(name, words) for name, words in documented(ast.parse(text)) if ">>>" in words]
            name = path.relative_to(PACKAGE).as_posix()
            found[name] = [parser.get_doctest(words, {}, called, name, None) for called, words in pairs]
    return found


PUBLIC = public_objects()
EXAMPLES = modules_with_examples()


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_has_an_example(name: str) -> None:
    assert ">>>" in (inspect.getdoc(PUBLIC[name]) or ""), f"{name} has no example in its docstring"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", EXAMPLES)
def test_examples_of_docstrings_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpl.use("agg")
    for number, example in enumerate(EXAMPLES[module]):
        if find_spec(NEEDED.get(example.name, "mdreel")) is None:
            continue
        folder = tmp_path / str(number)  # examples may write files of the same name
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.setenv("MDREEL_CHANNELS", str(folder / "channels"))
        said: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE)
        runner.run(example, out=said.append)
        assert not runner.failures, "".join(said)
