"""Tests of ``mdreel survival`` and ``mdreel water-relaxation``."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import TPR, XTC

from command_results import refused, table
from mdreel.analysis import SurvivalProbability, WaterOrientationalRelaxation

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("-s", TPR, "-f", XTC, "-q")
SHELL = "name OW and around 3.5 (resid 1:60)"


def test_survival_and_its_time_are_written(run, tmp_path: Path) -> None:
    options = ("--dynamic", SHELL, "--tau-max", "4", "--window-step", "2", "--intermittency", "1", "--residues")
    done = run("survival", *INPUT, *options, "-o", "a.csv", "--plot", "a.png")
    assert done.returncode == 0, done.stderr
    head, rows = table(tmp_path / "a.csv")
    assert head == ["tau", "lag_time_ps", "survival"]
    expected = SurvivalProbability(MDAnalysis.Universe(TPR, XTC), SHELL, 4, 2, 1, True).run()
    np.testing.assert_allclose(rows[:, 2], expected.results.sp_timeseries, rtol=1e-14)
    assert (tmp_path / "a.png").stat().st_size > 1000
    text = run("survival", *INPUT, *options).stdout
    assert f"residence time      {expected.residence_time():>10,.4g} ps" in text
    text = run("survival", *INPUT, "--dynamic", SHELL, "--tau-max", "1").stdout
    assert "unknown   a decay time needs 3 values or more" in text


def test_relaxation_is_written(run, tmp_path: Path) -> None:
    options = ("--dynamic", SHELL, "--tau-max", "3", "--order", "1")
    done = run("water-relaxation", *INPUT, *options, "-o", "a.csv", "--plot", "a.png")
    assert done.returncode == 0, done.stderr
    head, rows = table(tmp_path / "a.csv")
    assert head == ["tau", "lag_time_ps", "oh", "hh", "dipole", "n_pairs"]
    expected = WaterOrientationalRelaxation(MDAnalysis.Universe(TPR, XTC), SHELL, 3, 1).run()
    np.testing.assert_allclose(rows[:, 4], expected.results.dipole, rtol=1e-14)
    text = run("water-relaxation", *INPUT, *options).stdout
    assert "relaxation of dipole" in text


def test_invalid_input_is_refused(run) -> None:
    for command in ("survival", "water-relaxation"):
        refused(run(command, *INPUT), 2, "--dynamic is required")
        refused(run(command, *INPUT, "--dynamic", SHELL, "--tau-max", "0"), 2, "--tau-max")
        refused(run(command, *INPUT, "--dynamic", SHELL, "--tau-max", "50"), 3, "--tau-max must be")
    refused(run("water-relaxation", *INPUT, "--dynamic", SHELL, "--order", "3"), 2, "--order")
