"""``mdreel correlation`` gives what the functions on series give."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from command_results import refused, table

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture
def radius(tmp_path: Path) -> np.ndarray:
    """Write `rg.csv`, and return the radius of gyration."""
    rows = mdreel.Rg(MDAnalysis.Universe(PSF, DCD).select_atoms("protein")).run().results.rgyr
    lines = [f"{int(frame)},{time!r},{rg!r},a" for frame, time, rg in rows[:, :3].tolist()]
    (tmp_path / "rg.csv").write_text("\n".join(["frame,time_ps,rg_angstrom,label", *lines]) + "\n")
    return rows[:, 2]


def test_autocorrelation_of_a_table_is_written(run, tmp_path: Path, radius: np.ndarray) -> None:
    done = run("correlation", "rg.csv", "--max-lag", "20", "-o", "a.csv", "-o", "a.png", "-tu", "ns")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    head, rows = table(tmp_path / "a.csv")
    assert head == ["lag", "lag_time_ns", "rg_correlation"]
    np.testing.assert_allclose(rows[:, 1], np.arange(21) * 1e-3, rtol=1e-5)
    np.testing.assert_allclose(rows[:, 2], mdreel.analysis.autocorrelation(radius, max_lag=20), rtol=1e-12)
    done = run("correlation", "rg.csv", "--no-normalize", "--keep-mean", "-o", "b.csv")
    head, rows = table(tmp_path / "b.csv")
    assert head[2] == "rg_correlation_angstrom2"
    expected = mdreel.analysis.autocorrelation(radius, normalize=False, subtract_mean=False)
    np.testing.assert_allclose(rows[:, 2], expected, rtol=1e-12)


def test_summary_has_the_errors_of_means(run, radius: np.ndarray) -> None:
    text = run("correlation", "rg.csv", "--column", "rg").stdout
    inefficiency = mdreel.analysis.statistical_inefficiency(radius)
    assert f"{radius.mean():.6g} Å" in text
    assert f"{(inefficiency * radius.var() / len(radius)) ** 0.5:.3g} Å" in text
    assert f"{inefficiency:.4g} frames per independent sample" in text
    assert f"{mdreel.analysis.block_averages(radius).errors.max():.3g} Å   largest of block averages" in text


def test_short_and_constant_series_have_no_error(run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("frame,a,b\n0,1,1\n1,2,1\n")
    done = run("correlation", "a.csv", "-o", "b.png")
    assert done.returncode == 0, done.stderr
    assert "error none: a constant series" in done.stdout
    assert "error none: block averages need at least 4 frames" in done.stdout


@pytest.mark.parametrize(
    ("text", "options", "code", "words"),
    [
        ("frame,a\n0,1\n1,2\n", ["--column", "b"], 3, ["no column 'b'", "columns: a"]),
        ("frame,time_ps\n1,2\n", [], 3, ["no column besides frame and time"]),
        ("a,b\n1\n", [], 3, ["not a table"]),
        ("time_ps,a\n0,1\n1,2\n2,3\n4,4\n", [], 3, ["equal intervals", "row 3 is 2 ps"]),
        ("frame,a\n0,1\n1,nan\n", [], 3, ["column 'a'", "frame 1", "not finite"]),
        ("frame,a\n0,1\n1,2\n", ["--max-lag", "-1"], 2, ["--max-lag"]),
        ("frame,a\n0,1\n1,2\n", ["-o", "b.doc"], 2, ["b.doc"]),
        ("frame,a\n0,1\n1,2\n", ["-o", "b.csv", "-o", "b.csv"], 2, ["same name"]),
        ("frame,a\n0,1\n1,2\n", ["-o", "t.csv"], 2, ["--force replaces it"]),
    ],
)
def test_wrong_tables_and_options_are_refused(
    run, tmp_path: Path, text: str, options: list[str], code: int, words: list[str]
) -> None:
    (tmp_path / "t.csv").write_text(text)
    refused(run("correlation", "t.csv", *options), code, *words)


def test_missing_table_is_refused(run) -> None:
    refused(run("correlation", "no.csv"), 3, "no.csv")
    refused(run("correlation", "no.doc"), 3, "known endings")
    refused(run("correlation"), 2, "TABLE")


TIMES = np.arange(999_000.0, 1_000_000.0)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"atom": np.arange(9.0), "rmsf": np.arange(9.0)}, "neither frame nor time"),
        ({"frame": np.array([0.0, 1, 2, 50, 51]), "x": np.arange(5.0)}, "equal intervals"),
        ({"frame": np.zeros(5), "x": np.arange(5.0)}, "equal intervals"),
        ({"time_ps": np.delete(TIMES, 500), "x": np.arange(999.0)}, "equal intervals"),
    ],
    ids=["atoms", "steps", "equal frames", "missing frame"],
)
def test_rows_that_are_not_frames_at_equal_intervals_are_refused(
    run, tmp_path: Path, columns: dict[str, np.ndarray], words: str
) -> None:
    rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    refused(run("correlation", tmp_path / "rows.csv"), 3, words)


def test_columns_of_one_name_are_all_correlated(run, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("frame,x,x\n" + "".join(f"{i},{i % 3},{i % 5}\n" for i in range(30)))
    done = run("correlation", tmp_path / "two.csv", "-o", tmp_path / "c.csv")
    assert done.returncode == 0, done.stderr
    assert table(tmp_path / "c.csv")[0] == ["lag", "x_correlation", "x_2_correlation"]
