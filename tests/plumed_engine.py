"""PLUMED for tests: the compiled action, and programs that run with it."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np

import mdreel
from architecture.checkout import ROOT
from mdreel._core import FrameSet
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.status import Status

SIMULATION = Path(__file__).with_name("plumed_simulation.py")
BUILD = ROOT / "extras" / "plumed" / "build.py"
LONG = 60.0
LONGEST_BUILD = 900.0
"""s; Cargo may wait for a build of another test run."""


def missing_program() -> str | None:
    """Return a program that the tests of PLUMED need and that is not installed."""
    return next((name for name in ("plumed", "cargo", "c++") if shutil.which(name) is None), None)


def compiled(folder: Path) -> Path:
    """Compile the action; return the plugin."""
    plugin = folder / "MdreelChannel.so"
    command = [sys.executable, BUILD, "--output", plugin]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_BUILD, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == str(plugin)
    return plugin


@dataclass(frozen=True)
class PlumedRuns:
    """Runs of PLUMED in a folder, with the compiled action."""

    plugin: Path
    folder: Path

    @property
    def _output(self) -> Path:
        return self.folder / "output.txt"

    def said(self) -> str:
        """Return the output of the last program and of the log of PLUMED, in one line."""
        log = self.folder / "plumed.log"
        text = self._output.read_text() + (log.read_text() if log.exists() else "")
        return re.sub(r"\s+", " ", text)

    def write_input(self, *lines: str) -> None:
        """Write ``plumed.dat``, which loads the action."""
        (self.folder / "plumed.dat").write_text("\n".join([f"LOAD FILE={self.plugin}", *lines, ""]))

    @contextmanager
    def start(self, *command: str | Path) -> "Iterator[subprocess.Popen[str]]":
        """Start a program in the folder, and leave none behind."""
        with (
            self._output.open("w") as file,
            subprocess.Popen(command, cwd=self.folder, stdout=file, stderr=subprocess.STDOUT, text=True) as process,
        ):
            try:
                yield process
            except BaseException:
                process.kill()
                raise

    def driver(self, *words: str | Path) -> "AbstractContextManager[subprocess.Popen[str]]":
        """Start the program of PLUMED that reads a trajectory as if it were a simulation."""
        return self.start("plumed", "driver", *words)

    def simulation(self, n_steps: int, *words: str) -> "AbstractContextManager[subprocess.Popen[str]]":
        """Start OpenMM with PLUMED; see `plumed_simulation`."""
        return self.start(sys.executable, SIMULATION, str(n_steps), *words)

    def finish(self, process: "subprocess.Popen[str]") -> None:
        """Wait for a program that has to succeed."""
        assert process.wait(LONG) == 0, self.said()

    def fail(self, process: "subprocess.Popen[str]") -> str:
        """Wait for a program that has to fail; return what it has said."""
        assert process.wait(LONG) != 0, self.said()
        return self.said()


def frames_of(channel: str, **how: Any) -> list[Frame]:
    """Return copies of all frames of a channel."""
    with Consumer(channel, wait=LONG, timeout=LONG, **how) as consumer:
        return [frame.copy() for frame in consumer]


def read_file(path: str | Path) -> Any:
    """Return all frames of a file."""
    source = mdreel.open(path)
    reader = source.reader(np.arange(source.n_atoms, dtype=np.uint32), ["positions"])
    return reader.read(FrameSet.range(0, 1, source.n_frames))


def await_state(channel: str, has_come: Callable[[Status], bool]) -> None:
    """Wait for a state of a channel that a simulation creates."""
    until = monotonic() + LONG
    while monotonic() < until:
        try:
            if has_come(Status.read(channel)):
                return
        except FileNotFoundError:
            pass
        sleep(0.01)
    raise AssertionError(f"the channel {channel} did not reach the state in time")
