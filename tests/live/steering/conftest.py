"""Fixtures for steering, with a system whose frames are known."""

import json
import os
import subprocess
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mdreel
from forked_python.command import forked_python
from growing_file import N_ATOMS

LONGEST_SECONDS = 300

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def run_steer(folder: Path, *words: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run ``mdreel steer`` in a folder."""
    return subprocess.run(
        [forked_python(), "-m", "mdreel.cli", "steer", *map(str, words)],
        cwd=folder,
        env=os.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )


def lines_of(log: Path) -> list[dict[str, Any]]:
    """Return the lines of an audit log."""
    return [json.loads(line) for line in log.read_text().splitlines()]


def events(log: Path) -> list[tuple[Any, ...]]:
    """Return event, rule, action and frame of each line."""
    return [(line["event"], line["rule"], line["action"], line["sequence"]) for line in lines_of(log)]


def write_inputs(folder: Path) -> None:
    """Write a structure and a rule that always fires."""
    (folder / "top.gro").write_text(
        "water\n"
        f"{N_ATOMS}\n"
        + "".join(f"{i + 1:5}ALA  {'CA':>5}{i + 1:5}{0.1 * i:8.3f}{0:8.3f}{0:8.3f}\n" for i in range(N_ATOMS))
        + "   5.0   5.0   5.0\n"
    )
    (folder / "rules.toml").write_text(
        '[[analysis]]\ntype = "rg"\nselect = "all"\n[[rule]]\nname = "any"\nanalysis = "rg"\ncolumn = "rg"\nabove = 0\n'
        'actions = "wait"\n[[action]]\ntype = "run-command"\nname = "wait"\n'
        'command = ["sh", "-c", "echo $$ > pid; sleep 600"]\n'
    )


ENDLESS = f"""
import time, numpy as np, mdreel
with mdreel.live.Producer("run", {N_ATOMS}, time_step=1.0) as producer:
    for step in range(100000):
        producer.publish(np.zeros(({N_ATOMS}, 3), np.float32) + step, step, float(step))
        time.sleep(0.02)
"""


@pytest.fixture
def atoms() -> Any:
    """Create a topology of two atoms without names."""
    import MDAnalysis

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MDAnalysis.Universe.empty(2).atoms


@pytest.fixture
def channel(tmp_path: Path) -> Callable[[Sequence[float]], Path]:
    """Publish frames of two atoms at given distances on a channel and finish it; return its directory."""

    def publish(distances: Sequence[float]) -> Path:
        path = tmp_path / "run1"
        with mdreel.live.Producer(path, 2, n_slots=max(2, len(distances)), time_step=0.5) as producer:
            for frame, distance in enumerate(distances):
                producer.publish(np.array([[0, 0, 0], [distance, 0, 0]], np.float32), 10 * frame, 5.0 * frame)
        return path

    return publish
