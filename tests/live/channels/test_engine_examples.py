"""Tests that the engine examples publish the frames that the engine writes."""

import re
import runpy
import subprocess
import sys
from importlib.util import find_spec

import pytest

from architecture.checkout import ROOT

LONGEST_SECONDS = 120
N_FRAMES = 60

FOLLOW_ENGINES = ROOT / "examples" / "follow_engines.py"
GROMACS_HUB = ROOT / "examples" / "gromacs_hub.py"


def said(*command: object) -> str:
    """Run an example and return its output; fail the test if the example fails."""
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def is_there(engine: str) -> bool:
    return bool(runpy.run_path(str(FOLLOW_ENGINES))["is_installed"](engine))


def test_torsions_of_gromacs_through_a_hub_are_those_of_its_file() -> None:
    if not is_there("gromacs"):
        pytest.skip("gmx is not installed")
    text = said(GROMACS_HUB, "--frames", N_FRAMES)
    assert f"{N_FRAMES} frames; torsions are those of the file that GROMACS has written" in text
    assert "the channel has finished" in text


def test_counts_of_lammps_through_a_hub_are_those_of_its_file() -> None:
    if not is_there("lammps"):
        pytest.skip("lammps is not installed")
    text = said(ROOT / "examples" / "lammps_hub.py")
    assert "its counts are the same as those of the file that LAMMPS has written" in text
    if find_spec("imdclient") is not None:
        assert "MDAnalysis has read 200 frames, the last at step 2000" in text


@pytest.mark.parametrize(
    ("engine", "name", "n_before"), [("gromacs", "md.xtc", 1), ("lammps", "md.dcd", 1), ("openmm", "md.xtc", 0)]
)
def test_engine_is_followed_by_the_file_that_it_writes(engine: str, name: str, n_before: int) -> None:
    if not is_there(engine):
        pytest.skip(f"{engine} is not installed")
    text = said(FOLLOW_ENGINES, engine, "--frames", N_FRAMES)
    n_frames = N_FRAMES + n_before  # some write the frame before the first step as well
    expected = f"{engine}: {n_frames} frames of {name}; its counts are the same as those of the finished file"
    assert expected in text
    assert len(re.findall(r"the largest peak of g\(r\) at \d\.\d\d Å", text)) >= 1
