"""``mdreel align`` writes what `mdreel.AlignTraj` writes."""

from pathlib import Path

import MDAnalysis
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def test_command_writes_what_the_class_writes(run, tmp_path: Path) -> None:
    done = run("align", "-s", PSF, "-f", DCD, "--select", "name CA", "--step", "7", "-o", tmp_path / "a.dcd", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    mdreel.AlignTraj(MDAnalysis.Universe(PSF, DCD), None, select="name CA", filename=tmp_path / "b.dcd").run(step=7)
    assert (tmp_path / "a.dcd").read_bytes() == (tmp_path / "b.dcd").read_bytes()
    done = run("align", "-s", PSF, "-f", DCD, "-o", tmp_path / "a.dcd")
    assert done.returncode == 2
    assert "--force" in done.stderr
