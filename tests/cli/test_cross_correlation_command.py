"""Tests of ``mdreel cross-correlation``."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

from command_results import refused, table
from mdreel.analysis import CrossCorrelation

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("cross-correlation", "-s", PSF, "-f", DCD, "-q", "--select", "name CA and resid 10:49")


@pytest.fixture(scope="module")
def analysis() -> CrossCorrelation:
    universe = MDAnalysis.Universe(PSF, DCD)
    return CrossCorrelation(universe, "name CA and resid 10:49", True, mutual_information=True).run()


def test_pairs_and_picture_are_written(run, tmp_path: Path, analysis: CrossCorrelation) -> None:
    done = run(*INPUT, "--superposition", "--mutual-information", "-o", "a.csv", "--plot", "a.png")
    assert done.returncode == 0, done.stderr
    head, rows = table(tmp_path / "a.csv")
    columns = analysis.columns()
    assert head == [column.heading for column in columns]
    numbers = np.column_stack([column.values for column in columns if not column.is_text])
    np.testing.assert_allclose(rows, numbers, rtol=1e-12)
    assert (tmp_path / "a.png").stat().st_size > 1000
    done = run(*INPUT, "--superposition", "--min-correlation", "0.7", "-o", "b.csv")
    assert done.returncode == 0, done.stderr
    found = np.abs(table(tmp_path / "b.csv")[1][:, -1])
    assert len(found) == len(analysis.edge_list(0.7)) < 780
    assert found.min() >= 0.7


def test_summary_names_the_strongest_correlations(run, analysis: CrossCorrelation) -> None:
    text = run(*INPUT, "--superposition").stdout
    matrix = analysis.results.correlation[np.triu_indices(40, 1)]
    assert f"lowest    {matrix.min():>10.3f}" in text
    assert f"highest   {matrix.max():>10.3f}" in text
    assert f"pairs     {(abs(matrix) >= 0.5).sum():>10,}" in text


def test_invalid_input_is_refused(run) -> None:
    refused(run(*INPUT, "--min-correlation", "1.5"), 2, "--min-correlation must be 0 to 1, not 1.5")
    refused(run(*INPUT, "--stop", "1"), 3, "a correlation needs 2 frames or more")
    refused(run(*INPUT, "--mutual-information", "--stop", "6"), 3, "needs 7 frames or more")
