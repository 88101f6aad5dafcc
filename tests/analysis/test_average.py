"""Tests of mean positions and fluctuations after superposition."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import align, rms
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

import mdreel
from mdreel._core import Source
from mdreel.errors import MismatchError, SelectionError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ALPHA = "protein and name CA"
SINGLE = 1e-4  # Å; the peer moves coordinates in single precision


@pytest.fixture(params=[(PSF, DCD), (GRO, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


@pytest.mark.parametrize("options", [{}, {"weights": "mass", "ref_frame": 2}], ids=["alike", "mass"])
def test_average_agrees_with_mdanalysis(universe: MDAnalysis.Universe, options: dict[str, object]) -> None:
    ours = mdreel.AverageStructure(universe, select="protein and backbone", **options).run()
    theirs = align.AverageStructure(universe, select="protein and backbone", **options).run()
    np.testing.assert_allclose(ours.results.positions, theirs.results.positions, rtol=0, atol=SINGLE)
    assert abs(ours.results.rmsd - theirs.results.rmsd) < 1e-6
    assert ours.results.universe.atoms.n_atoms == theirs.results.universe.atoms.n_atoms
    np.testing.assert_allclose(ours.results.universe.atoms.positions, ours.results.positions, atol=1e-5)


def test_rmsf_after_superposition_agrees_with_mdanalysis(universe: MDAnalysis.Universe) -> None:
    side, alpha = universe.select_atoms("protein and name CB"), universe.select_atoms(ALPHA)
    ours = mdreel.RMSF(side, superposition=ALPHA).run().results
    moved = MDAnalysis.Universe(universe.filename, universe.trajectory.filename, in_memory=True)
    align.AlignTraj(moved, universe, select=ALPHA, in_memory=True).run()
    theirs = rms.RMSF(moved.select_atoms("protein and name CB")).run().results
    np.testing.assert_allclose(ours.rmsf, theirs.rmsf, rtol=0, atol=SINGLE)
    by_group = mdreel.RMSF(side, superposition=alpha).run().results.rmsf
    assert by_group.tobytes() == ours.rmsf.tobytes()


def test_average_is_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    universe = MDAnalysis.Universe(PSF)
    expected = mdreel.AverageStructure(universe, select=ALPHA, trajectory=adk_xtc).run(backend="serial").results
    rmsf = mdreel.RMSF(universe.select_atoms(ALPHA), superposition=True, trajectory=adk_xtc).run(n_parts=13).results
    assert rmsf.rmsf.tobytes() == expected.rmsf.tobytes()
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        results = mdreel.AverageStructure(universe, select=ALPHA, trajectory=adk_xtc).run(**options).results
        assert results.positions.tobytes() == expected.positions.tobytes(), options
        assert (results.rmsf.tobytes(), results.rmsd) == (expected.rmsf.tobytes(), expected.rmsd), options


def test_molecule_that_only_drifts_and_turns_does_not_fluctuate() -> None:
    rng = np.random.default_rng(3)
    points = rng.normal(scale=8.0, size=(30, 3))
    angles = np.linspace(0.0, 3.0, 20)
    turned = np.array(
        [points @ [[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]] + 5 * a for a in angles]
    )
    universe = MDAnalysis.Universe.empty(30, trajectory=True)
    source = Source.memory(turned.astype(np.float32), np.arange(20.0))
    results = mdreel.RMSF(universe.atoms, superposition=True, trajectory=source).run().results
    assert results.rmsf.max() < 1e-5
    assert mdreel.RMSF(universe.atoms, trajectory=source).run().results.rmsf.min() > 1.0


def test_selections_may_differ_where_names_do(universe: MDAnalysis.Universe) -> None:
    both = mdreel.AverageStructure(universe, universe, select=(ALPHA, ALPHA)).run().results
    named = mdreel.AverageStructure(universe, universe, select={"mobile": ALPHA, "reference": ALPHA}).run().results
    alone = mdreel.AverageStructure(universe, select=ALPHA).run().results
    np.testing.assert_array_equal(both.positions, named.positions)
    np.testing.assert_allclose(both.positions, alone.positions, rtol=0, atol=1e-9)


def test_file_matches_mdanalysis_and_is_never_partial(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    average = mdreel.AverageStructure(universe, select=ALPHA, filename=tmp_path / "ours.pdb")
    assert not list(tmp_path.iterdir())
    average.run()
    align.AverageStructure(universe, select=ALPHA, filename=str(tmp_path / "theirs.pdb")).run()
    ours, theirs = (MDAnalysis.Universe(tmp_path / name) for name in ("ours.pdb", "theirs.pdb"))
    np.testing.assert_allclose(ours.atoms.positions, theirs.atoms.positions, rtol=0, atol=2e-3)
    assert ours.atoms.names.tolist() == theirs.atoms.names.tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours.pdb", "theirs.pdb"]
    with pytest.raises(FileExistsError):
        mdreel.AverageStructure(universe, select=ALPHA, filename=tmp_path / "ours.pdb", force=False).run()
    mdreel.AverageStructure(universe, select="name CB", filename=tmp_path / "ours.pdb").run(stop=2)
    assert set(MDAnalysis.Universe(tmp_path / "ours.pdb").atoms.names) == {"CB"}


def test_nothing_is_left_of_a_file_that_fails(
    universe: MDAnalysis.Universe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "average.gro"
    path.write_text("mine")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    average = mdreel.AverageStructure(universe, select=ALPHA, filename=path, force=True)
    monkeypatch.setattr("MDAnalysis.coordinates.GRO.GROWriter.write", fail)
    with pytest.raises(OSError, match="No space left"):
        average.run(stop=3)
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("average.gro", "mine")]
    with pytest.raises(UnsupportedError, match="no structures with this ending"):
        mdreel.AverageStructure(universe, select=ALPHA, filename=tmp_path / "average.doc")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        mdreel.AverageStructure(universe, select=ALPHA, filename=tmp_path / "none" / "average.pdb").run()


def test_atoms_of_other_masses_are_refused_unless_they_are_taken_as_they_are(universe: MDAnalysis.Universe) -> None:
    select = ("name CA and resid 2:9", "name N and resid 2:9")
    expected = r"8 of 8 atoms do not match .* \(CA of ARG 2\).* 12\.01.* \(N of ARG 2\).* 14\.0.*match_atoms=False"
    with pytest.raises(MismatchError, match=expected):
        mdreel.AverageStructure(universe, universe, select)
    for options in ({"match_atoms": False}, {"tol_mass": 2.1}):
        ours = mdreel.AverageStructure(universe, universe, select, **options).run(stop=5).results
        theirs = align.AverageStructure(universe, universe, select, **options).run(stop=5).results
        np.testing.assert_allclose(ours.positions, theirs.positions, rtol=0, atol=SINGLE)
    plain = MDAnalysis.Universe.empty(8, trajectory=True)
    with pytest.warns(UserWarning, match="neither masses nor names"):
        mdreel.AverageStructure(universe, plain, ("name CA and resid 2:9", "all"))


def test_average_refuses_invalid_input(universe: MDAnalysis.Universe) -> None:
    with pytest.raises(SelectionError, match="has no atoms"):
        mdreel.AverageStructure(universe, select="name XY")
    with pytest.raises(SelectionError, match="must be an AtomGroup or a Universe"):
        mdreel.AverageStructure(42)
    with pytest.raises(SelectionError, match="must have 'mobile' and 'reference'"):
        mdreel.AverageStructure(universe, select={"mobile": "all"})
    with pytest.raises(MismatchError, match="atomgroup has 214 atoms, reference has"):
        mdreel.AverageStructure(universe, universe, select=(ALPHA, "protein"), strict=True)
    with pytest.raises(MismatchError, match="weights must have the shape"):
        mdreel.AverageStructure(universe, select=ALPHA, weights=[1.0])


def test_plot_draws_the_rmsd(universe: MDAnalysis.Universe) -> None:
    figure = mdreel.AverageStructure(universe, select=ALPHA).run().plot()
    assert figure.axes[0].get_ylabel() == "RMSD from reference (Å)"
