"""A plugin of pytest that runs tests of MDAnalysis on mdreel's readers, and counts the frames that they show."""

from pathlib import Path
from typing import Any

import pytest

import mdreel
from conformance.foreign_suite import Deselected, Suite
from mdreel.mdanalysis.accelerate import _replacements
from parsed_topologies import parse_once

DESELECTED = Deselected(Path(__file__).with_name("mdanalysis_deselected.txt"))


def pytest_configure(config: pytest.Config) -> None:
    parse_once()
    mdreel.mdanalysis.accelerate()
    suite = Suite(DESELECTED)
    for reader in set(_replacements().values()):
        reader._show = counted(suite, reader.__name__, reader._show)
    config.pluginmanager.register(suite)


def counted(suite: Suite, name: str, show: Any) -> Any:
    """Return the method of a reader that shows a frame, with a count of its calls."""

    def count(reader: Any, frame: int, ts: Any) -> Any:
        suite.counted[name] += 1
        return show(reader, frame, ts)

    return count
