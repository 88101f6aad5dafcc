"""Tests of DSSP against MDAnalysis and mdtraj."""

import itertools
from pathlib import Path

import MDAnalysis
import mdtraj
import numpy as np
import pytest
from MDAnalysis.analysis.dssp import DSSP
from MDAnalysis.transformations import unwrap
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC
from MDAnalysisTests.datafiles import DSSP as DSSP_FILES

import mdreel
from mdreel.errors import MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
SINGLE = 2e-4  # of the residues: those that single precision puts on the other side of an edge


@pytest.fixture(params=[(PSF, DCD), (TPR, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


def adk() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


def in_two_chains(cut: int) -> MDAnalysis.Universe:
    """Return AdK with the residues from number `cut` on in another segment and chain."""
    universe = adk()
    universe.add_TopologyAttr("chainIDs", ["A"] * len(universe.atoms))
    if cut < 215:
        behind = universe.residues[cut - 1 :]
        behind.segments = universe.add_Segment(segid="B")
        behind.atoms.chainIDs = "B"
    return universe


def of_mdtraj(atoms: MDAnalysis.AtomGroup, folder: Path, step: int) -> np.ndarray:
    structure, trajectory = folder / "protein.pdb", folder / "protein.dcd"
    atoms.write(structure)
    with MDAnalysis.Writer(str(trajectory), len(atoms)) as writer:
        for _ in atoms.universe.trajectory[::step]:
            writer.write(atoms)
    states = mdtraj.compute_dssp(mdtraj.load(trajectory, top=structure), simplified=False)
    return np.where(states == " ", "-", states)


@pytest.mark.parametrize("guess_hydrogens", [True, False])
def test_three_states_are_those_of_mdanalysis(universe: MDAnalysis.Universe, guess_hydrogens: bool) -> None:
    ours = mdreel.DSSP(universe, guess_hydrogens).run(step=5)
    if universe.dimensions is not None:  # where the cell breaks a peptide bond, MDAnalysis loses the hydrogen
        universe.trajectory.add_transformations(unwrap(universe.select_atoms("protein")))
    expected = DSSP(universe, guess_hydrogens).run(step=5).results
    assert ours.states == ("-", "H", "E")
    np.testing.assert_array_equal(ours.results.dssp, expected.dssp)
    np.testing.assert_array_equal(ours.results.dssp_ndarray, expected.dssp_ndarray)
    np.testing.assert_array_equal(ours.results.resids, expected.resids)
    assert {"-", "H", "E"} == set(ours.results.dssp.ravel())


@pytest.mark.parametrize("cut", [215, 62, 110])
def test_eight_states_are_those_of_mdtraj(cut: int, tmp_path: Path) -> None:
    atoms = in_two_chains(cut).select_atoms("protein")
    expected = of_mdtraj(atoms, tmp_path, 4)
    ours = mdreel.DSSP(atoms, method="kabsch-sander").run(step=4)
    assert set("".join(ours.states)) >= set(ours.results.dssp.ravel()) >= set("-HEGTS")
    known = expected != "NA"
    assert known[:, :-1].all()
    assert (ours.results.dssp != expected)[known].mean() < SINGLE


def test_fractions_are_shares_of_frames(universe: MDAnalysis.Universe) -> None:
    for method in ("simplified", "kabsch-sander"):
        ours = mdreel.DSSP(universe, method=method).run()
        expected = [(ours.results.dssp == state).mean(axis=0) for state in ours.states]
        np.testing.assert_allclose(ours.results.fraction, np.transpose(expected), rtol=1e-15)
        told = np.array(ours.states)[ours.results.dssp_ndarray.argmax(axis=-1)]
        np.testing.assert_array_equal(told, ours.results.dssp)


def test_chain_ends_where_the_next_residue_is_too_far() -> None:
    cut = "protein and not resid 50:60 and not resid 120:124"
    universe = adk()
    with_ends = mdreel.DSSP(universe.select_atoms(cut), method="kabsch-sander", longest_bond=2.5).run()
    alone = mdreel.DSSP(universe.select_atoms(cut), method="kabsch-sander").run()
    assert (with_ends.results.dssp != alone.results.dssp).any()
    for first, residues in zip("BC", ("61:119", "125:214"), strict=True):
        universe.select_atoms(f"resid {residues}").residues.segments = universe.add_Segment(segid=first)
    in_segments = mdreel.DSSP(universe.select_atoms(cut), method="kabsch-sander").run()
    np.testing.assert_array_equal(with_ends.results.dssp, in_segments.results.dssp)
    for method in ("simplified", "kabsch-sander"):
        whole, uncut = (mdreel.DSSP(adk(), method=method, longest_bond=bond).run() for bond in (2.5, None))
        np.testing.assert_array_equal(whole.results.dssp, uncut.results.dssp)


def test_residue_with_incomplete_backbone_is_left_out_or_refused() -> None:
    atoms = adk().select_atoms("protein and not (resid 17 and name O)")
    found = mdreel.DSSP(atoms, method="kabsch-sander").run(stop=3).results
    assert found.dssp.shape == (3, 213)
    assert 17 not in found.resids
    with pytest.raises(MismatchError, match="residue ALA 17 of segment 4AKE lacks some of"):
        mdreel.DSSP(atoms)


def test_states_do_not_depend_on_images_of_atoms() -> None:
    universe = MDAnalysis.Universe(TPR, XTC)
    protein = universe.select_atoms("protein")
    for method in ("simplified", "kabsch-sander"):
        found = mdreel.DSSP(universe, method=method).run(stop=4)
        whole = mdreel.DSSP(universe, method=method).run(
            stop=4, transformations=[mdreel.transformations.unwrap(protein)]
        )
        wrapped = mdreel.DSSP(universe, method=method).run(
            stop=4,
            transformations=[mdreel.transformations.unwrap(protein), mdreel.transformations.wrap(universe.atoms)],
        )
        for other in (whole, wrapped):
            assert (found.results.dssp != other.results.dssp).mean() < SINGLE * 10
    # In a box in which nothing is beyond its edges, no image is shorter.
    alone = [mdreel.DSSP(adk(), pbc=pbc).run(stop=4).results.dssp for pbc in (True, False)]
    np.testing.assert_array_equal(*alone)


def test_states_are_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    topology = MDAnalysis.Universe(PSF)

    def bits(**options: object) -> bytes:
        found = []
        for method, guess in itertools.product(("simplified", "kabsch-sander"), (True, False)):
            results = mdreel.DSSP(topology, guess, method=method, trajectory=adk_xtc).run(**options).results
            found += [results.dssp.tobytes(), results.dssp_ndarray.tobytes(), results.fraction.tobytes()]
        return b"".join(found)

    expected = bits(backend="serial")
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2}):
        assert bits(**options) == expected, options


def test_dssp_refuses_invalid_input() -> None:
    universe = adk()
    for options, message in (
        ({"method": "stride"}, "method must be 'simplified' or 'kabsch-sander'"),
        ({"heavyatom_names": ("N", "CA", "C")}, "names of N, CA, C and O"),
        ({"heavyatom_names": ("N", "CA CB", "C", "O OT1")}, "has 2 atoms 'CA CB'"),
        ({"heavyatom_names": ("N", "CA", "C", "O")}, "lacks some of 'N', 'CA', 'C', 'O'"),
        ({"guess_hydrogens": False, "hydrogen_name": "HN HA"}, "contains 2 hydrogens 'HN HA', expected 1"),
        ({"guess_hydrogens": False, "hydrogen_name": "HX"}, "contains 0 hydrogens"),
    ):
        with pytest.raises(MismatchError, match=message):
            mdreel.DSSP(universe, **options)
    with pytest.raises(MismatchError, match="longest_bond must be more than 0 Å, not -1"):
        mdreel.DSSP(universe, longest_bond=-1.0)
    with pytest.raises(SelectionError, match="has no atoms"):
        mdreel.DSSP(MDAnalysis.Universe(TPR).select_atoms("resname SOL"))
    with pytest.raises(SelectionError, match="no residue of the 214 atoms has N, CA, C and O"):
        mdreel.DSSP(universe.select_atoms("name CA"), method="kabsch-sander")


def test_plot_shows_residues_over_time() -> None:
    dssp = mdreel.DSSP(adk(), method="kabsch-sander").run()
    axes = dssp.plot().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Time (ps)", "Residue")
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[0] == "α-helix"
    assert len(labels) == 8
    image = axes.get_images()[0]
    drawn = np.asarray(image.get_array())
    assert drawn.shape == (214, 98)
    np.testing.assert_array_equal(drawn == 0, dssp.results.dssp.T == "H")
    assert tuple(image.get_extent())[2:] == (0.5, 214.5)
    cut = adk().select_atoms("protein and not resid 50:60")
    axes = mdreel.DSSP(cut).run(stop=1).plot().axes[0]
    drawn = np.asarray(axes.get_images()[0].get_array())
    assert drawn.shape == (214, 1)
    assert (drawn[49:60] == -1).all()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["helix", "strand", "loop"]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_placeholder_of_a_cell_is_not_a_cell() -> None:
    universe = MDAnalysis.Universe(f"{DSSP_FILES}/2va0A.pdb.gz")
    expected = mdreel.DSSP(universe).run().results.dssp
    universe.trajectory.ts.dimensions = np.array([1, 1, 1, 90, 90, 90])
    with pytest.warns(UserWarning, match="not using periodic boundary conditions"):
        found = mdreel.DSSP(universe).run().results.dssp
    np.testing.assert_array_equal(found, expected)


def test_fewer_than_six_residues_need_eight_states() -> None:
    few = adk().select_atoms("resid 1:5")
    with pytest.raises(SelectionError, match="at least 6 residues, got 5"):
        mdreel.DSSP(few)
    assert mdreel.DSSP(few, method="kabsch-sander").run(stop=2).results.dssp.shape == (2, 5)
