"""What tests of benchmarks share: small data, and the command."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from forked_python.command import forked_python

Bench = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of trajectories, each made once."""
    return tmp_path_factory.mktemp("bench-data")


@pytest.fixture(scope="session")
def bench(data: Path) -> Bench:
    """Run ``mdreel bench`` in a folder."""

    def run(folder: Path, *arguments: str | Path, **settings: str) -> "subprocess.CompletedProcess[str]":
        command = [forked_python(), "-m", "mdreel.cli", "bench", *map(str, arguments)]
        if arguments[0] == "run":
            command += ["--data", str(data), *([] if "--report" in arguments else ["--no-report"])]
        return subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    return run
