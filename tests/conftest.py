"""What tests share: real trajectories, and an index cache of their own."""

import gc
import itertools
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from forked_python.workers import forked_workers
from mpi_launcher import RANKS_SLEEP_WHILE_THEY_WAIT
from parsed_topologies import parse_once

gc.disable()  # until all tests are collected: what is collected stays

# Started in the background by a script, a process ignores Ctrl-C, and all that it starts do: tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

parse_once()

os.environ.update(RANKS_SLEEP_WHILE_THEY_WAIT)  # also for ranks that programs under test start

ORDER = (
    "live",
    "cluster",
    "lab",
    "faults",
    "execution",
    "docs",
    "conformance",
    "mdanalysis",
    "cli",
    "analysis",
)
"""Folders whose tests come before the others.

Tests of the first five wait for processes and timers, while the checks in Rust use the processors. Single tests of the
next two take minutes: at the end, one of them would run alone.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests in the order of their folders, each file in one piece."""
    tests = Path(__file__).parent
    places = {name: place for place, name in enumerate(ORDER)}
    items.sort(key=lambda item: places.get(item.path.relative_to(tests).parts[0], len(places)))


def pytest_collection_finish() -> None:
    """Leave the collected tests and what they import out of later garbage collections, which would look at them all."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders for the caches of all tests. `mktemp` itself lists all folders that it made, for each new one."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_cache(caches: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Indexes of one test are nothing to another, nor to the user."""
    cache = next(caches)
    cache.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("XDG_STATE_HOME", str(cache / "state"))  # the key of checkpoints
    return cache


@pytest.fixture(scope="session", autouse=True)
def workers_start_at_once() -> Iterator[None]:
    """Have the fork server start the workers of our processes, of Dask and of `multiprocessing`."""
    with forked_workers():
        yield


@pytest.fixture(autouse=True)
def own_interrupt() -> None:
    """Ctrl-C is Python's: dask_jobqueue has another idea when it is imported."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_figures() -> Iterator[None]:
    """Figures of one test are nothing to another: pyplot keeps those that nobody closes."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(scope="session")
def adk_positions() -> np.ndarray:
    """The AdK trajectory, shape (98, 3341, 3), float32, Å, as MDAnalysis reads it."""
    from MDAnalysis.lib.formats.libdcd import DCDFile
    from MDAnalysisTests.datafiles import DCD

    with DCDFile(DCD) as file:
        return np.asarray(file.readframes().xyz, np.float32)


@pytest.fixture(scope="session")
def adk_xtc(tmp_path_factory: pytest.TempPathFactory, adk_positions: np.ndarray) -> Path:
    """The AdK trajectory as XTC, written by MDAnalysis; frame i at i ps in a cell of 100 Å."""
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    path = tmp_path_factory.mktemp("adk") / "adk.xtc"
    with XTCFile(str(path), "w") as file:
        for i, positions in enumerate(adk_positions):
            file.write(positions / 10, np.eye(3, dtype=np.float32) * 10, i, float(i), 1000)
    return path


@pytest.fixture(scope="session")
def adk_dcd() -> Path:
    """The AdK trajectory as DCD."""
    from MDAnalysisTests.datafiles import DCD

    return Path(DCD)
