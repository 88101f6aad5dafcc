"""What the tests of batch scripts share: an environment with mdreel in it, and runs to compare with."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

from forked_python.command import forked_python

Mdreel = Callable[..., str]


@pytest.fixture(scope="session")
def mdreel() -> Mdreel:
    """Run the command in a folder; return what it prints."""

    def run(folder: Path, *arguments: str | Path) -> str:
        words = [forked_python(), "-m", "mdreel.cli", *map(str, arguments)]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment of the tests, as one that a job can be told of, wherever mdreel is installed."""
    folder = tmp_path_factory.mktemp("environment")
    (folder / "bin").mkdir()
    path = os.pathsep.join([str(folder / "bin"), sysconfig.get_path("scripts")])
    (folder / "bin" / "activate").write_text(f"export PATH={path}:$PATH\n")
    command = folder / "bin" / "mdreel"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m mdreel.cli "$@"\n')
    command.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def adk(tmp_path_factory: pytest.TempPathFactory, mdreel: Mdreel) -> tuple[list[str], bytes]:
    """A short analysis, and the table that one process makes of it."""
    words = ["rmsd", "-s", PSF, "-f", DCD, "--select", "name CA and not resname 'HOH'", "-o", "rmsd.csv"]
    return words, _table(tmp_path_factory, mdreel, words)


@pytest.fixture(scope="session")
def long_run(tmp_path_factory: pytest.TempPathFactory, mdreel: Mdreel) -> tuple[list[str], bytes]:
    """An analysis of several seconds at least, of a small file that is read again and again; and its table."""
    path = tmp_path_factory.mktemp("water") / "water.xtc"
    path.write_bytes(Path(XTC).read_bytes() * 100)  # XTC files may be joined like this
    words = ["rmsd", "-s", GRO, *(["-f", str(path)] * 12), "--select", "all", "-o", "rmsd.csv"]
    return words, _table(tmp_path_factory, mdreel, words)


def _table(factory: pytest.TempPathFactory, mdreel: Mdreel, words: list[str]) -> bytes:
    folder = factory.mktemp("expected")
    mdreel(folder, *words, "--backend", "threads")
    return (folder / "rmsd.csv").read_bytes()
