"""Test of an ensemble of OpenMM simulations."""

import json
import os
import runpy
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mdreel
from architecture.checkout import ROOT
from forked_python.command import forked_python
from live.ensemble.conftest import Walks, wait_for
from live.ensemble.test_again import published

EXAMPLE = ROOT / "examples" / "ensemble_openmm.py"
FRAMES = 3000
LONGEST_SECONDS = 240

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture
def example() -> dict[str, Any]:
    pytest.importorskip("openmm", reason="openmm is not installed")
    return runpy.run_path(str(EXAMPLE))


def test_replicas_of_openmm_have_the_results_of_their_archives(walks: Walks, example: dict[str, Any]) -> None:
    import MDAnalysis as mda

    topology = walks.folder / "beads.pdb"
    example["write_topology"](topology)
    begin = [forked_python(), str(EXAMPLE), "--simulate", "{channel}", "--seed", "{seed}", "--frames", str(FRAMES)]
    begin += ["--archive", "run.dcd"]
    walks.write(
        f'name = "walk"\nreplicas = 2\nat-once = 2\ntopology = "beads.pdb"\ncheckpoint = "state.checkpoint"\n'
        f"command = {json.dumps(begin)}\nrestart = {json.dumps([*begin, '--restart', '{checkpoint}'])}\n"
        '[[analysis]]\ntype = "rmsd"\nselect = "all"\n'
    )
    with walks.start() as manager:
        n_frames = wait_for(lambda: published(walks, "001") if published(walks, "001") > 100 else 0, "frames")
        os.kill(walks.process("001"), signal.SIGKILL)
        _, said = manager.communicate(timeout=LONGEST_SECONDS)
    assert manager.returncode == 0, said
    assert n_frames < FRAMES
    assert "001 continues from its checkpoint" in said
    assert [one["n_deaths"] for one in walks.status()] == [0, 1]
    atoms = mda.Universe(str(topology)).atoms
    for label in ("000", "001"):
        archive = mdreel.open(walks.place / label / "run.dcd")
        assert archive.n_frames == FRAMES
        expected = mdreel.RMSD(atoms, trajectory=archive).run().results.rmsd
        found = walks.table(f"{label}/rmsd.csv")
        np.testing.assert_array_equal(found[:, [0, 2]], expected[:, [0, 2]])
        # A DCD has one interval between all times.
        np.testing.assert_allclose(found[:, 1], 0.04 * np.arange(1, FRAMES + 1), rtol=1e-6)


def test_example_runs_its_ensemble(tmp_path: Path, example: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    channels = tmp_path / "channels"
    channels.mkdir(mode=0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(channels))
    done = subprocess.run([forked_python(), EXAMPLE], capture_output=True, text=True, timeout=LONGEST_SECONDS)
    assert done.returncode == 0, done.stderr
    assert "16 of 16 replicas have finished" in done.stderr
    rows = [line.split(",") for line in done.stdout.splitlines() if line[:1].isdigit() and "," in line]
    assert [row[:2] for row in rows] == [[str(number), "1"] for number in range(16)]
    assert {row[3] for row in rows} == {"300"}
