"""A plugin of pytest that runs tests of MDAnalysis on mdreel's readers, and reports how it went."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import mdreel
from mdreel.mdanalysis.accelerate import _replacements

DESELECTED = Path(__file__).with_name("mdanalysis_deselected.txt")


def deselected() -> dict[str, str]:
    """Reasons by test: the file's lines are ``test: reason``."""
    lines = [line for line in DESELECTED.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    reasons = dict(line.split(": ", 1) for line in lines)
    assert len(reasons) == len(lines), "a test is listed twice"
    return reasons


class Suite:
    """What happened: tests by outcome, frames that our readers showed, tests that were left out."""

    def __init__(self, report: Path) -> None:
        self.report = report
        self.outcomes: Counter[str] = Counter()
        self.frames: Counter[str] = Counter()
        self.left_out: list[str] = []

    def count_frames(self) -> None:
        """Count the frames that each of our readers shows."""
        for reader in set(_replacements().values()):
            reader._show = self._counted(reader.__name__, reader._show)

    def _counted(self, name: str, show: Any) -> Any:
        def counted(reader: Any, frame: int, ts: Any) -> Any:
            self.frames[name] += 1
            return show(reader, frame, ts)

        return counted

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        names = {item: f"{item.path.name}::{item.nodeid.split('::', 1)[1]}" for item in items}
        out = [item for item in items if names[item] in deselected()]
        self.left_out = [names[item] for item in out]
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.outcome] += 1

    def pytest_sessionfinish(self) -> None:
        found = {"outcomes": self.outcomes, "frames": self.frames, "left out": self.left_out}
        self.report.write_text(json.dumps(found), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    mdreel.mdanalysis.accelerate()
    suite = Suite(Path(os.environ["ACCELERATED_SUITE_REPORT"]))
    suite.count_frames()
    config.pluginmanager.register(suite)
