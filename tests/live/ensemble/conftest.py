"""Fixtures for ensembles of random walks and their expected results."""

import csv
import json
import os
import subprocess
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

import mdreel
from forked_python.command import forked_python
from live.ensemble.walk import N_ATOMS, STEP_PS, STRIDE, trajectory_of
from mdreel._core import Source

LONGEST_SECONDS = 240

WALK = Path(__file__).parent / "walk.py"

ANALYSES = """
[[analysis]]
type = "rmsd"
select = "all"
[[analysis]]
type = "rg"
name = "size"
select = "all"
[[analysis]]
type = "rmsf"
select = "all"
"""


class Walks:
    """Ensemble of walks in a folder.

    Attributes
    ----------
    folder : Path
        Where its file is.
    python : str
        Interpreter of the walks, by default one whose processes are forked. Walks that the manager kills need
        `sys.executable`: a forked one ends a moment after the process that the manager knows.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = forked_python()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import MDAnalysis

            made = MDAnalysis.Universe.empty(N_ATOMS, n_residues=N_ATOMS, atom_resindex=range(N_ATOMS), trajectory=True)
            for name, values in (("names", ["CA"]), ("resnames", ["GLY"]), ("masses", [12.011]), ("elements", ["C"])):
                made.add_TopologyAttr(name, values * N_ATOMS)
            made.atoms.write(folder / "top.pdb")
            self.universe = MDAnalysis.Universe(str(folder / "top.pdb"))

    @property
    def place(self) -> Path:
        return self.folder / "walk"

    def say(self, replicas: int, frames: int, *how: str | int, settings: str = "", staging: bool = False) -> None:
        """Write the ensemble file."""
        staged = ("--staging", "{staging}") if staging else ()
        again = self.words("--frames", frames, "--restart", "{checkpoint}", *staged, *how)
        self.write(
            f'name = "walk"\nreplicas = {replicas}\ncheckpoint = "state.chk"\ntopology = "top.pdb"\n'
            f"command = {self.words('--frames', frames, *staged, *how)}\nrestart = {again}\n{settings}\n{ANALYSES}"
        )

    def words(self, *more: str | int) -> str:
        """Return the command of a walk in TOML."""
        return json.dumps([self.python, str(WALK), "{channel}", "--seed", "{seed}", *map(str, more)])

    def write(self, content: str) -> None:
        (self.folder / "e.toml").write_text(content)

    @contextmanager
    def start(self, *options: str, python: str = "") -> "Iterator[subprocess.Popen[str]]":
        """Start a run whose output can be read; kill it if the test fails."""
        command = [python or forked_python(), "-m", "mdreel.cli", "ensemble", "run", "e.toml", *options]
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, cwd=self.folder, env=os.environ, text=True, **pipes) as process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise

    def run(self, *options: str, code: int = 0) -> str:
        """Run the ensemble to its end and return its output."""
        with self.start(*options) as process:
            _, said = process.communicate(timeout=LONGEST_SECONDS)
        assert process.returncode == code, said
        return str(said)

    def status(self) -> list[dict[str, Any]]:
        command = [forked_python(), "-m", "mdreel.cli", "ensemble", "status", "e.toml", "--json"]
        done = subprocess.run(command, cwd=self.folder, env=os.environ, capture_output=True, text=True, check=True)
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found

    def events(self, label: str) -> list[str]:
        """Return the events in the journal of a replica, except for ``starting``."""
        lines = (self.place / ".ensemble" / f"{label}.jsonl").read_text().splitlines()
        events = [json.loads(line)["event"] for line in lines]
        assert events.count("starting") >= events.count("started")
        return [event for event in events if event != "starting"]

    def process(self, label: str) -> int:
        """Return the process of a replica that was started last."""
        lines = map(json.loads, (self.place / ".ensemble" / f"{label}.jsonl").read_text().splitlines())
        return int([line["process"] for line in lines if "process" in line][-1])

    def check(self, labels: Sequence[str], frames: int) -> None:
        """Check that the results are bit for bit those of the trajectories that the walks have written."""
        joined: dict[str, list[np.ndarray]] = {}
        for label in labels:
            positions = trajectory_of(self.place / label / "own.f32")
            assert len(positions) == frames
            times = STRIDE * STEP_PS * np.arange(frames)
            box = np.tile(np.array([30, 31, 32, 90, 90, 90], np.float32), (frames, 1))
            atoms = self.universe.atoms
            source = Source.memory(positions, times, box)
            rmsd, rg, rmsf = mdreel.run(
                [kind(atoms, trajectory=source) for kind in (mdreel.RMSD, mdreel.Rg, mdreel.RMSF)]
            )
            expected = {
                "rmsd": rmsd.results.rmsd,
                "size": rg.results.rgyr,
                "rmsf": np.column_stack([atoms.ix, atoms.resids, rmsf.results.rmsf]),
            }
            for name, values in expected.items():
                np.testing.assert_array_equal(self.table(f"{label}/{name}.csv"), values, err_msg=f"{label} {name}")
                numbered = np.column_stack([np.full(len(values), int(label)), values])
                joined.setdefault(name, []).append(numbered)
        if len(labels) == len(self.status()):
            for name, each in joined.items():
                np.testing.assert_array_equal(self.table(f"{name}.csv"), np.concatenate(each))

    def table(self, name: str) -> np.ndarray:
        """Return the numbers in a results table, shape (n_rows, n_columns)."""
        with (self.place / "results" / name).open() as file:
            head, *rows = csv.reader(file)
        kept = [place for place, column in enumerate(head) if column not in ("segment", "resname")]
        return np.array([[row[place] for place in kept] for row in rows], float)


def wait_for(find: Callable[[], Any], what: str) -> Any:
    """Poll a function until it returns a true value; return the value."""
    until = monotonic() + LONGEST_SECONDS
    while not (found := find()):
        assert monotonic() < until, f"waited for {what}"
        sleep(0.02)
    return found


@pytest.fixture
def walks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Walks:
    """Create an ensemble in a temporary folder that also contains its channels."""
    channels = tmp_path / "channels"
    channels.mkdir(mode=0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(channels))
    return Walks(tmp_path)
