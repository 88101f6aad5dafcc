"""Tests of table files, read back with other programs."""

import json
import os
import re
import shutil
import stat
import subprocess

import numpy as np
import pytest

from mdreel.errors import UnsupportedError
from mdreel.results.column import Column
from mdreel.results.files import check_output, write
from table_writers import ENDINGS, INSTALLED


def test_csv_round_trips_every_float64(tmp_path, columns, metadata):
    path = tmp_path / "rmsd.csv"
    write(path, columns, metadata)
    lines = path.read_text("ascii").splitlines()
    assert lines[0] == "frame,time_ps,rmsd_angstrom"
    rows = [line.split(",") for line in lines[1:]]
    assert [int(row[0]) for row in rows] == list(range(1000))
    for index in (1, 2):
        np.testing.assert_array_equal(np.array([float(row[index]) for row in rows]), columns[index].values)


def test_xvg_is_read_by_mdanalysis(tmp_path, columns, metadata):
    from MDAnalysis.auxiliary.XVG import XVGReader

    path = tmp_path / "rmsd.xvg"
    write(path, columns, metadata)
    with_reader = np.array([np.append(step.time, step.data) for step in XVGReader(str(path))])
    np.testing.assert_array_equal(with_reader[:, 0], columns[1].values)
    np.testing.assert_array_equal(with_reader[:, -1], columns[2].values)


def test_xvg_has_title_labels_and_legend(tmp_path, columns, metadata):
    path = tmp_path / "rmsd.xvg"
    write(path, columns, metadata)
    head = [line for line in path.read_text().splitlines() if line[0] in "#@"]
    assert '@    title "RMSD"' in head
    assert '@    xaxis  label "Time (ps)"' in head
    assert '@    yaxis  label "RMSD (angstrom)"' in head
    assert '@ s0 legend "RMSD (angstrom)"' in head
    assert "@TYPE xy" in head
    assert "# n_atoms: 214" in head


@pytest.mark.skipif(shutil.which("gmx") is None, reason="needs GROMACS")
def test_xvg_is_read_by_gromacs(tmp_path):
    values = np.array([1.0, 2.0, 6.0])
    write(tmp_path / "rmsd.xvg", [Column("time", "ps", np.arange(3.0)), Column("rmsd", "Å", values)], {"title": "a"})
    command = ["gmx", "-quiet", "analyze", "-f", "rmsd.xvg"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Read 1 sets of 3 points, dt = 1" in done.stdout + done.stderr
    assert re.search(r"SS1\s+3\.0+e\+00", done.stdout + done.stderr)


def test_xvg_stays_readable_when_the_title_has_quotes_and_lines(tmp_path, columns):
    path = tmp_path / "rmsd.xvg"
    write(path, columns, {"title": 'a "b"\nc \\0 d'})
    assert "@    title \"a 'b' c /0 d\"" in path.read_text().splitlines()
    assert np.loadtxt(path, comments=("#", "@")).shape == (1000, 2)


def test_npz_holds_arrays_units_and_metadata(tmp_path, columns, metadata):
    path = tmp_path / "rmsd.npz"
    write(path, columns, metadata)
    with np.load(path) as archive:
        for column in columns:
            np.testing.assert_array_equal(archive[column.name], column.values)
            assert archive[column.name].dtype == column.values.dtype
        described = json.loads(str(archive["metadata"]))
    assert described["units"] == {"frame": "", "time": "ps", "rmsd": "Å"}
    assert described["selection"] == metadata["selection"]


def test_parquet_holds_columns_units_and_metadata(tmp_path, columns, metadata):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rmsd.parquet"
    write(path, columns, metadata)
    table = parquet.read_table(path)
    for column in columns:
        np.testing.assert_array_equal(table[column.name].to_numpy(), column.values)
        assert table.field(column.name).metadata[b"unit"].decode() == column.unit
    assert json.loads(table.schema.metadata[b"mdreel"]) == metadata


def test_json_round_trips_and_writes_nan_as_null(tmp_path, columns, metadata):
    path = tmp_path / "rmsd.json"
    columns[1].values[7] = np.nan
    write(path, columns, metadata)
    table = json.loads(path.read_text("utf-8"), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert table["metadata"] == metadata
    assert table["units"] == {"frame": "", "time": "ps", "rmsd": "Å"}
    assert table["columns"]["rmsd"] == columns[2].values.tolist()
    assert table["columns"]["frame"] == list(range(1000))
    assert table["columns"]["time"][7] is None


def test_netcdf_holds_variables_units_and_attributes(tmp_path, columns, metadata):
    from scipy.io import netcdf_file

    path = tmp_path / "rmsd.nc"
    write(path, columns, metadata)
    with netcdf_file(path, mmap=False) as file:
        for column in columns:
            np.testing.assert_array_equal(file.variables[column.name][:], column.values)
        assert file.variables["rmsd"].units == b"angstrom"
        assert file.variables["time"].units == b"ps"
        assert file.Conventions == b"CF-1.11"
        assert file.n_atoms == 214
        assert file.selection.decode() == metadata["selection"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("n_frames", [0, 1])
def test_writers_accept_tables_of_no_and_one_frame(tmp_path, ending, n_frames):
    path = tmp_path / f"rmsd{ending}"
    columns = [Column("frame", "", np.arange(n_frames)), Column("rmsd", "Å", np.zeros(n_frames))]
    write(path, columns, {})
    assert path.stat().st_size > 0


def test_write_refuses_columns_of_different_length(tmp_path):
    with pytest.raises(ValueError, match="the same length"):
        write(tmp_path / "a.csv", [Column("a", "", np.zeros(2)), Column("b", "", np.zeros(3))], {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["rmsd.txt", "rmsd", ".csv"])
def test_check_output_lists_the_known_endings_when_it_knows_not_this_one(tmp_path, name):
    with pytest.raises(UnsupportedError, match=re.escape(".csv, .xvg, .npz, .parquet, .json, .nc, .xlsx")):
        check_output(tmp_path / name)


def test_check_output_ignores_the_case_of_the_ending(tmp_path):
    check_output(tmp_path / "RMSD.CSV")


def test_check_output_says_how_to_install_pyarrow_when_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("mdreel.results.files.find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match=r"pip install 'mdreel\[parquet\]'"):
        check_output(tmp_path / "rmsd.parquet")


def test_written_files_have_the_permissions_of_new_files(tmp_path, columns, metadata):
    path = tmp_path / "rmsd.csv"
    mask = os.umask(0o027)
    try:
        write(path, columns, metadata)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_text_that_names_rows_is_kept_by_every_format(tmp_path):
    segments, resids = np.array(["PROA", "ß", ""]), np.array([1, 1, 2])
    columns = [Column("segment", "", segments), Column("resid", "", resids), Column("sasa", "Å^2", np.arange(3.0))]
    for ending in INSTALLED:
        write(tmp_path / f"table{ending}", columns, {"title": "a"})
    lines = (tmp_path / "table.csv").read_text("utf-8").splitlines()
    assert lines == ["segment,resid,sasa_angstrom2", "PROA,1,0.0", "ß,1,1.0", ",2,2.0"]
    assert json.loads((tmp_path / "table.json").read_text())["columns"]["segment"] == segments.tolist()
    with np.load(tmp_path / "table.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["segment"], segments)
    if ".parquet" in INSTALLED:
        pyarrow = pytest.importorskip("pyarrow.parquet")
        assert pyarrow.read_table(tmp_path / "table.parquet")["segment"].to_pylist() == segments.tolist()
    from scipy.io import netcdf_file

    with netcdf_file(tmp_path / "table.nc", mmap=False) as file:
        rows = file.variables["segment"][:]
        assert [b"".join(row).rstrip(b"\0").decode() for row in rows] == segments.tolist()
        np.testing.assert_array_equal(file.variables["resid"][:], resids)
    text = (tmp_path / "table.xvg").read_text()
    assert "# row 0: segment PROA" in text
    assert [line for line in text.splitlines() if line[0] not in "#@"] == ["1 0.0", "1 1.0", "2 2.0"]
