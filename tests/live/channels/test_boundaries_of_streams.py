"""Tests of periodic boundary checks on growing trajectories."""

import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from MDAnalysis.lib.formats.libmdaxdr import XTCFile

import mdreel
from mdreel.errors import BrokenMoleculeWarning, JumpWarning
from mdreel.live.producers.replay import replay
from mdreel.trajectory.open import open as open_trajectory
from peptide_system import CELL, peptide, peptide_positions

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
N_FRAMES = 8


@pytest.fixture
def trajectory(tmp_path: Path) -> Path:
    """Return a wrapped peptide at the corner of the cell, which jumps after frame 3."""
    positions = peptide_positions()[:N_FRAMES].astype(np.float64)
    positions = (positions - positions.mean(axis=(0, 1))) % CELL
    positions[4:] += [CELL, 0, 0]
    with XTCFile(str(tmp_path / "run.xtc"), "w") as file:
        for i, frame in enumerate(positions):
            file.write(frame.astype(np.float32) / 10, np.eye(3, dtype=np.float32) * CELL / 10, i, float(i), 1000)
    return tmp_path / "run.xtc"


def warned(run: Callable[[], Any]) -> list[type[Warning]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return [one.category for one in caught if issubclass(one.category, (BrokenMoleculeWarning, JumpWarning))]


@pytest.mark.parametrize("is_live", [False, True])
@pytest.mark.parametrize("is_channel", [False, True])
def test_growing_trajectory_warns_once_as_a_file_does(trajectory: Path, is_live: bool, is_channel: bool) -> None:
    atoms = peptide().atoms
    publishing = threading.Thread(target=lambda: replay(open_trajectory(trajectory), "run", n_consumers=1))
    if is_channel:
        publishing.start()
    source = (
        mdreel.live.channel("run", wait=20) if is_channel else mdreel.trajectory.follow(trajectory, n_frames=N_FRAMES)
    )
    rg, msd = (kind(atoms, trajectory=source) for kind in (mdreel.Rg, mdreel.EinsteinMSD))

    def run() -> None:
        if is_live:
            for _ in mdreel.live.stream_results([rg, msd], every=0):
                pass
        else:
            mdreel.run([rg, msd])

    found = warned(run)
    if is_channel:
        publishing.join()
    assert sorted(one.__name__ for one in found) == ["BrokenMoleculeWarning", "JumpWarning"]
    expected = mdreel.Rg(atoms, trajectory=trajectory).run().results.rgyr
    np.testing.assert_array_equal(rg.results.rgyr, expected)
