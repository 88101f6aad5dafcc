"""Tests of results in files."""

import errno
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from damaged_files import write_sound
from every_analysis import CASES
from finished_analyses import N_FRAMES, finished, read_table
from forked_python.command import forked_python
from full_disk import full_disk
from mdreel.errors import ArgumentError, DamagedFrameWarning, UnsupportedError
from mdreel.results.column import Column, unique_names
from mdreel.results.files import write
from peptide_system import peptide, write_peptide
from privilege import without_privilege
from table_writers import ENDINGS, INSTALLED, MISSING

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


WITH_UNITS = (".csv", ".xlsx")
"""Endings of formats whose headings contain the units."""


@pytest.fixture(scope="module")
def trajectory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("output") / "peptide.xtc"
    write_peptide(path, N_FRAMES)
    return path


@pytest.fixture
def rmsd() -> Any:
    return mdreel.RMSD(MDAnalysis.Universe(PSF, DCD).select_atoms("name CA")).run(step=20)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", CASES)
def test_saved_table_is_read_back(name: str, ending: str, trajectory: Path, tmp_path: Path) -> None:
    if (name, ending) == ("AverageStructure", ".nc"):
        pytest.skip("this ending is a format of structures")
    analysis, path = finished(name, trajectory), tmp_path / f"table{ending}"
    columns = list(analysis.columns())
    if ending == ".xvg":
        numbers = [column for column in columns if not column.is_text]
        abscissa = next((column for column in numbers if column.name == "time"), numbers[0])
        columns = [abscissa, *(one for one in numbers if one is not abscissa and one.name != "frame")]
    assert analysis.save(path) == path
    found = read_table(path)
    assert len(found) == len(columns)
    for number, column in enumerate(columns):
        values = found[str(number) if ending == ".xvg" else column.heading if ending in WITH_UNITS else column.name]
        if column.is_text:
            assert ["" if value is None else value for value in values] == column.values.tolist()
        else:
            read = np.array([np.nan if value is None else float(value) for value in values])
            tolerance = 1e-14 if ending == ".xlsx" else 0
            np.testing.assert_allclose(read, column.values, rtol=tolerance, err_msg=column.name)


def protein(universe: MDAnalysis.Universe) -> MDAnalysis.AtomGroup:
    return universe.select_atoms("protein")


def alpha(universe: MDAnalysis.Universe) -> MDAnalysis.AtomGroup:
    return universe.select_atoms("name CA")


COMMANDS: dict[str, tuple[str, Any]] = {
    "rmsd": ('select = "name CA"\ngroup = ["name CB"]', lambda u: mdreel.RMSD(alpha(u), groupselections=["name CB"])),
    "rg": ("", lambda u: mdreel.Rg(protein(u))),
    "rmsf": ("", lambda u: mdreel.RMSF(alpha(u))),
    "average": ("", lambda u: mdreel.AverageStructure(alpha(u))),
    "dssp": ("", lambda u: mdreel.DSSP(protein(u))),
    "dihedrals": ("", lambda u: mdreel.Dihedrals(protein(u))),
    "distances": ("", lambda u: mdreel.DistanceArray(alpha(u), cutoff=8.0)),
    "rmsd2d": ("", lambda u: mdreel.DistanceMatrix(alpha(u), superposition=True)),
    "msd": ('select = "name CA"', lambda u: mdreel.EinsteinMSD(alpha(u), None, per_particle=False)),
    "sasa": ("points = 50", lambda u: mdreel.SASA(protein(u), 1.4, 50, "total")),
    "hbonds": ("", lambda u: mdreel.HydrogenBondAnalysis(u, between=("protein", "protein"))),
    "water-bridges": (
        'select = "resid 1:60"\nother = "resid 80:214"\nwater = "resid 61:79"\nrole = "donor"',
        lambda u: mdreel.analysis.WaterBridgeAnalysis(
            u, "resid 1:60", "resid 80:214", "resid 61:79", selection1_type="donor", filter_first=False, pbc=True
        ),
    ),
    "residue-contacts": ("", lambda u: mdreel.ResidueContacts(protein(u))),
    "fingerprint": ("", lambda u: mdreel.analysis.InteractionFingerprint(protein(u))),
    "contacts": ("", lambda u: mdreel.Contacts(u, (alpha(u), alpha(u)), 0, pairs="unique")),
    "density": ("delta = 5.0", lambda u: mdreel.DensityAnalysis(protein(u), 5.0, trajectory=DCD)),
    "end-to-end": ("", lambda u: mdreel.EndToEnd(alpha(u))),
    "helices": ('segment = ["13:24"]', lambda u: mdreel.HelixEigenvalues([u.select_atoms("name CA and resid 13:24")])),
}
DESCRIBED = {"title": "Radius of gyration", "topology": PSF, "trajectory": DCD, "selection": "protein", "n_atoms": 3341}
FORMATS = [ending for ending in INSTALLED if ending != ".xlsx"]  # which has the time of writing


@pytest.fixture(scope="module")
def command_line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables of all commands, written by one call of the command line."""
    folder = tmp_path_factory.mktemp("command_line")
    tables = [("csv", name, options) for name, (options, _) in COMMANDS.items()]
    tables += [(ending[1:], "rg", "") for ending in FORMATS if ending != ".csv"]
    parts = [f'[[analysis]]\ntype = "{name}"\noutput = "{name}.{kind}"\n{options}' for kind, name, options in tables]
    inputs = f'topology = "{PSF}"\ntrajectory = ["{DCD}"]\n[run]\nstep = 10'
    (folder / "recipe.toml").write_text("\n".join([inputs, *parts]))
    command = [forked_python(), "-m", "mdreel.cli", "run", "recipe.toml", "-q"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_table_has_the_bytes_of_the_command_line(command: str, command_line: Path, tmp_path: Path) -> None:
    analysis = COMMANDS[command][1](MDAnalysis.Universe(PSF, DCD)).run(step=10)
    written = analysis.save(tmp_path / f"{command}.csv").read_bytes()
    assert written == (command_line / f"{command}.csv").read_bytes()


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_has_the_bytes_of_the_command_line(ending: str, command_line: Path, tmp_path: Path) -> None:
    rg = mdreel.Rg(protein(MDAnalysis.Universe(PSF, DCD))).run(step=10)
    written = rg.save(tmp_path / f"rg{ending}", metadata={**DESCRIBED, "weights": "mass"}).read_bytes()
    assert written == (command_line / f"rg{ending}").read_bytes()


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_takes_numbers_of_numpy_as_metadata(ending: str, tmp_path: Path) -> None:
    rg = mdreel.Rg(protein(MDAnalysis.Universe(PSF, DCD))).run(stop=2)
    facts = {"n": np.int64(3), "x": np.float32(0.5), "is_so": np.bool_(True), "text": "a"}
    assert rg.save(tmp_path / f"rg{ending}", metadata=facts).exists()
    for wrong in (np.zeros(2), [1], {"a": 1}, object()):
        with pytest.raises(ArgumentError, match=r"metadata\['a'\] must be a text, True or False, a whole number"):
            rg.save(tmp_path / f"other{ending}", metadata={"a": wrong})


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize(("on_error", "n_frames"), [("stop", 4), ("skip", 8)])
def test_frames_left_out_are_in_the_file(ending: str, on_error: str, n_frames: int, tmp_path: Path) -> None:
    sound = write_sound(tmp_path, "xtc")
    damaged = sound.with_bytes(sound.ranges[4][0], bytes(40))
    rmsd = mdreel.RMSD(MDAnalysis.Universe.empty(21, trajectory=True).atoms, trajectory=damaged)
    with pytest.warns(DamagedFrameWarning):
        rmsd.run(on_error=on_error)
    path = rmsd.save(tmp_path / f"rmsd{ending}")
    assert {len(values) for values in read_table(path).values()} == {n_frames}
    assert rmsd._metadata_with(None)["on_error"] == on_error
    if ending == ".npz":
        assert "frame 4, byte" in str(np.load(path)["metadata"])
    elif ending != ".csv":
        assert b"frame 4, byte" in path.read_bytes()
    assert "1 damaged, left out" in rmsd._repr_html_()


def test_save_refuses_what_it_cannot_do(rmsd: Any, tmp_path: Path) -> None:
    path = tmp_path / "rmsd.csv"
    assert rmsd.save(str(path)) == path
    kept = path.read_bytes()
    with pytest.raises(FileExistsError, match=r"rmsd\.csv"):
        rmsd.save(path)
    assert rmsd.run(step=30).save(path, force=True) == path
    assert path.read_bytes() != kept
    with pytest.raises(UnsupportedError, match=r"ends in '\.txt'; known endings of tables: \.csv"):
        rmsd.save(tmp_path / "rmsd.txt")
    with pytest.raises(FileNotFoundError, match="missing"):
        rmsd.save(tmp_path / "missing" / "rmsd.csv")
    fresh = mdreel.RMSD(rmsd.atomgroup)
    for use in (lambda: fresh.save(tmp_path / "a.csv"), fresh.to_dataframe, fresh.to_xarray, fresh.plot):
        with pytest.raises(AttributeError, match=r"no results yet: call run\(\) first"):
            use()
    assert [one.name for one in tmp_path.iterdir()] == ["rmsd.csv"]


def test_save_names_a_missing_package(rmsd: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdreel.results.files.find_spec", lambda name: None)
    for ending in ("parquet", "xlsx"):
        with pytest.raises(UnsupportedError, match=rf"pip install 'mdreel\[{ending}\]'"):
            rmsd.save(tmp_path / f"rmsd.{ending}")


def test_save_leaves_nothing_without_permission_or_space(rmsd: Any, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        with without_privilege(), pytest.raises(PermissionError, match=folder):
            rmsd.save(Path(folder, "rmsd.csv"))
    angles = mdreel.Dihedrals(MDAnalysis.Universe(PSF, DCD)).run()
    with full_disk(tmp_path):
        with pytest.raises(OSError, match="dihedrals") as caught:
            angles.save(tmp_path / "dihedrals.csv")
        assert caught.value.errno in (errno.ENOSPC, errno.EFBIG)
        assert list(tmp_path.iterdir()) == []


def test_average_structure_is_saved_as_table_or_structure(tmp_path: Path) -> None:
    average = mdreel.AverageStructure(alpha(MDAnalysis.Universe(PSF, DCD))).run(step=20)
    head = average.save(tmp_path / "a.csv").read_text().splitlines()[0]
    assert head == "atom,segment,resname,resid,x_angstrom,y_angstrom,z_angstrom,rmsf_angstrom"
    for name in ("a.gro", "a.nc"):
        assert average.save(tmp_path / name) == tmp_path / name
        read = MDAnalysis.Universe(tmp_path / "a.gro", tmp_path / name).atoms.positions
        np.testing.assert_allclose(read, average.results.positions, atol=0.006)
    with pytest.raises(UnsupportedError, match="writes no structures"):
        average.save(tmp_path / "a.odd")


class Spreads(mdreel.AnalysisBase):
    """An own analysis with results for each frame and others."""

    def _prepare(self) -> None:
        self.results.spread = np.zeros((self.n_frames, 20))

    def _single_frame(self) -> None:
        self.results.spread[self._frame_index] = self.atomgroup.positions[:20].std(axis=1)

    def _conclude(self) -> None:
        self.results.mean = self.results.spread.mean()


def test_own_analysis_saves_all_columns_and_names_what_it_leaves_out(trajectory: Path, tmp_path: Path) -> None:
    own = Spreads(peptide().atoms, trajectory=trajectory).run()
    with pytest.warns(UserWarning, match=r"results\.mean has no value for each frame and is not in the table"):
        own.save(tmp_path / "own.npz")
    table = read_table(tmp_path / "own.npz")
    assert list(table) == ["frame", "time", *(f"spread_{number}" for number in range(1, 21))]
    np.testing.assert_array_equal(np.transpose(list(table.values())[2:]), own.results.spread)
    assert [one.name for one in own._result_arrays()] == ["spread", "mean"]


def test_own_function_without_a_table_is_refused(trajectory: Path, tmp_path: Path) -> None:
    group = peptide().atoms
    discarded = mdreel.from_function(lambda x: None, group, reduce="discard", trajectory=trajectory).run()
    adding = mdreel.analysis.Reducer(lambda a, b: a + b)
    added = mdreel.from_function(lambda x: float(x.sum()), group, reduce=adding, trajectory=trajectory).run()
    for analysis, found in ((discarded, "none at all"), (added, r"only results\.value")):
        with pytest.raises(UnsupportedError, match=f"no results with a value per frame, {found}"):
            analysis.save(tmp_path / "own.csv")


def test_reduced_values_of_an_own_function_are_rows(trajectory: Path, tmp_path: Path) -> None:
    group = peptide().atoms
    largest = mdreel.from_function(lambda x: x[0], group, reduce="max", trajectory=trajectory).run()
    largest.save(tmp_path / "largest.npz")
    assert read_table(tmp_path / "largest.npz") == {"value": [0, 1, 2], "max": largest.results.max.tolist()}
    bins = {"bins": 3, "range": (-9.0, 9.0)}
    counts = mdreel.from_function(lambda x: x[:, 0], group, reduce="histogram", trajectory=trajectory, **bins).run()
    counts.save(tmp_path / "counts.npz")
    table = read_table(tmp_path / "counts.npz")
    assert table == {"from": [-9, -3, 3], "to": [-3, 3, 9], "count": counts.results.histogram.tolist()}


def test_distances_of_frames_have_a_column_for_each_pair(trajectory: Path) -> None:
    group = peptide().select_atoms("name CA")[:3]
    columns = mdreel.DistanceArray(group, group[[0, 0]], trajectory=trajectory).run().columns()
    one, other = group.ix[:2]
    expected = [f"distance_{one}_{one}", f"distance_{one}_{one}_2", f"distance_{other}_{one}"]
    assert [column.name for column in columns[2:5]] == expected


def test_unique_names_are_unique() -> None:
    assert unique_names(["a", "a", "a_2", "b", "a"]) == ["a", "a_3", "a_2", "b", "a_4"]


def test_tables_have_no_two_columns_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="different names, got 'a' twice"):
        write(tmp_path / "a.npz", [Column("a", "", np.zeros(1)), Column("a", "", np.ones(1))], {})


@pytest.mark.skipif(".xlsx" in MISSING, reason="needs openpyxl")
def test_workbook_has_text_as_text_and_says_when_it_is_too_small(tmp_path: Path) -> None:
    import openpyxl

    columns = [Column("segment", "", np.array(["=1+1", "a\x07b"])), Column("sasa", "Å^2", np.array([0.1, np.nan]))]
    path = tmp_path / "a.xlsx"
    write(path, columns, {"title": "=SUM(A1)", "n_atoms": 3})
    book = openpyxl.load_workbook(path)
    cells = list(book["results"].iter_rows())
    assert [one.value for one in cells[0]] == ["segment", "sasa_angstrom2"]
    assert (cells[1][0].value, cells[1][0].data_type) == ("=1+1", "s")
    assert [one.value for one in cells[2]] == ["a\\x07b", None]
    assert [one.data_type for one in book["metadata"]["B"]] == ["s", "n"]
    with pytest.raises(UnsupportedError, match=r"16,384 columns: use \.parquet or \.csv"):
        write(tmp_path / "b.xlsx", [Column(f"a{i}", "", np.zeros(1)) for i in range(16_385)], {})
    assert [one.name for one in tmp_path.iterdir()] == ["a.xlsx"]


def test_values_that_look_like_frames_or_times_are_kept() -> None:
    universe = peptide()
    first = mdreel.from_function(lambda _: [0.0, 0.0, 7.0], universe.atoms).run(stop=1)
    names = [column.name for column in first.columns()]
    assert names == ["frame", "time", "timeseries_1", "timeseries_2", "timeseries_3"]
