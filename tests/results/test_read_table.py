"""Tables that were written are read again."""

from pathlib import Path

import numpy as np
import pytest

from mdreel.errors import FormatError, UnsupportedError
from mdreel.results.column import Column
from mdreel.results.files import write
from mdreel.results.read_table import read_table

COLUMNS = [
    Column("frame", "", np.arange(3)),
    Column("time", "ps", np.array([0.0, 0.1, 0.2])),
    Column("rmsd", "Å", np.array([0.0, 1 / 3, 2.5])),
    Column("rmsd_group_1", "Å^2", np.array([0.0, np.pi, 2.5])),
    Column("sasa", "nm^2", np.array([1.0, 2.0, 3.0])),
]


@pytest.mark.parametrize("ending", ["csv", "json", "npz", "parquet", "xvg"])
def test_columns_are_read_with_their_units(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    write(path, COLUMNS, {"title": "a"})
    expected = COLUMNS[1:] if ending == "xvg" else COLUMNS
    found = read_table(path)
    names = [one.name for one in found]
    assert names == [one.name for one in expected]
    assert [one.unit for one in found] == [one.unit for one in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


def test_columns_of_text_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write(path, [Column("resname", "", np.array(["ALA", "GLY", "LYS"])), COLUMNS[2]], {})
    assert [one.name for one in read_table(path)] == ["rmsd"]


def test_xvg_of_gromacs_is_read(tmp_path: Path) -> None:
    lines = ['@    xaxis  label "Time (ns)"', '@    yaxis  label "Rg (nm)"', "@TYPE xy", "0 1.5", "1 1.6", "&"]
    (tmp_path / "a.xvg").write_text("# comment\n" + "\n".join(lines))
    time, radius = read_table(tmp_path / "a.xvg")
    assert [(one.name, one.unit) for one in (time, radius)] == [("time", "ns"), ("rg", "nm")]
    assert radius.values.tolist() == [1.5, 1.6]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", ""),
        ("a.csv", "a,b\n1\n"),
        ("a.csv", "name\nx\n"),
        ("a.json", "{}"),
        ("a.json", "no json"),
        ("a.npz", "no archive"),
        ("a.parquet", "no parquet"),
        ("a.xvg", "@ s0 legend\n"),
        ("a.xvg", "0 1\n2\n"),
        ("a.xvg", "a b\n"),
    ],
)
def test_files_without_a_table_are_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=f"{name}: not a table"):
        read_table(tmp_path / name)


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"known endings of tables to read: \.csv"):
        read_table(tmp_path / "a.txt")
