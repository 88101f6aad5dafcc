"""The examples in the docstrings of public names: each name has one, and it runs as a user would paste it."""

import doctest
import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

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
NEEDED = {"Dask": "distributed", "repack": "h5py"}
"""Packages that the example of a name needs."""


def public_objects() -> dict[str, Any]:
    """Return all public classes and functions by their shortest name."""
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


PUBLIC = public_objects()


def examples_of(value: Any) -> list[doctest.DocTest]:
    """Return the examples of a class with those of its public methods, or of a function."""
    documented = {value.__name__: value}
    if isinstance(value, type):
        documented |= {
            f"{value.__name__}.{name}": member
            for name, member in vars(value).items()
            if not name.startswith("_") and inspect.isfunction(member)
        }
    parser = doctest.DocTestParser()
    texts = {name: inspect.getdoc(member) or "" for name, member in documented.items()}
    return [parser.get_doctest(text, {}, name, None, 0) for name, text in texts.items() if ">>>" in text]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_has_an_example(name: str) -> None:
    assert ">>>" in (inspect.getdoc(PUBLIC[name]) or ""), f"{name} has no example in its docstring"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PUBLIC)
def test_example_of_a_docstring_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(NEEDED.get(PUBLIC[name].__name__, "mdreel"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MDREEL_CHANNELS", str(tmp_path / "channels"))
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE)
    said: list[str] = []
    for example in examples_of(PUBLIC[name]):
        runner.run(example, out=said.append)
    assert not runner.failures, "".join(said)
