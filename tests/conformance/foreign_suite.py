"""Runs of MDAnalysis's own tests on mdreel, with the tests left out and their reasons."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

REPORT = "FOREIGN_SUITE_REPORT"


class Deselected:
    """Tests of MDAnalysis that are left out; the lines of the file are ``module.py::test: reason``.

    A test without parameters in its name stands for all its parameters.
    """

    def __init__(self, path: Path) -> None:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
        self.reasons = dict(line.split(": ", 1) for line in lines)
        assert len(self.reasons) == len(lines), f"{path.name} lists a test twice"

    def line_of(self, test: str) -> str | None:
        """Return the line's test that leaves this test out, if there is one."""
        return next((name for name in (test, test.partition("[")[0]) if name in self.reasons), None)

    def of(self, module: str) -> list[str]:
        """Return the tests of one module that are left out."""
        return [name for name in self.reasons if name.startswith(f"{module}.py::")]


def name_of(item: pytest.Item) -> str:
    """Return the name of a test as the lists have it."""
    return f"{item.path.name}::{item.nodeid.split('::', 1)[1]}"


class Suite:
    """A plugin that leaves tests out and reports the outcomes, what was counted, and the tests left out."""

    def __init__(self, deselected: Deselected) -> None:
        self.deselected = deselected
        self.outcomes: Counter[str] = Counter()
        self.passed: Counter[str] = Counter()
        self.counted: Counter[str] = Counter()
        self.left_out: dict[str, str] = {}
        self.lenient: dict[str, str] = {}

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        names = {item: name_of(item) for item in items}
        out = [item for item in items if self.deselected.line_of(names[item]) is not None]
        self.left_out = {names[item]: str(self.deselected.line_of(names[item])) for item in out}
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.outcome] += 1
        if report.when == "call" and report.outcome == "passed":
            self.passed[Path(report.location[0]).stem] += 1

    def pytest_sessionfinish(self) -> None:
        found = {
            "outcomes": self.outcomes,
            "passed": self.passed,
            "counted": self.counted,
            "left out": self.left_out,
            "lenient": self.lenient,
        }
        Path(os.environ[REPORT]).write_text(json.dumps(found), encoding="utf-8")


def run_modules(modules: Iterable[str], plugin: str, folder: Path) -> dict[str, Any]:
    """Run test modules of MDAnalysis under a plugin; return the report, with the output as ``text``."""
    report, configuration = folder / "report.json", folder / "pytest.ini"
    configuration.write_text("[pytest]\n")
    # pytest would record each of 150,000 warnings.
    without = [word for name in ("cacheprovider", "xdist", "warnings") for word in ("-p", f"no:{name}")]
    options = ["-q", "--import-mode=importlib", *without, "-p", plugin]
    command = [sys.executable, "-m", "pytest", *options, "-c", str(configuration), "--rootdir", str(folder)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)]),
        REPORT: str(report),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    tests = ["--pyargs", *(f"MDAnalysisTests.{module}" for module in modules)]
    answer = subprocess.run([*command, *tests], cwd=folder, env=environment, capture_output=True, text=True)
    assert report.exists(), answer.stdout[-3000:] + answer.stderr[-3000:]
    return {"text": answer.stdout, "code": answer.returncode, **json.loads(report.read_text())}
