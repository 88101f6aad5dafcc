"""The analysis of what a selection selects over time."""

import pickle
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

import mdreel
from mdreel._core import FrameSelection, Source
from mdreel.errors import MismatchError, SelectionError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
WORDS = "name OW and around 3.5 (resid 1:40)"


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(TPR, XTC)


@pytest.fixture(scope="module")
def presence(universe: MDAnalysis.Universe) -> list[set[int]]:
    """Atoms that MDAnalysis selects in each frame."""
    group = universe.select_atoms(WORDS, updating=True)
    return [set(group.ix.tolist()) for _ in universe.trajectory]


def test_counts_and_atoms_are_those_of_each_frame(universe: MDAnalysis.Universe, presence: list[set[int]]) -> None:
    found = mdreel.Selection(universe, WORDS).run()
    assert found.results.counts.tolist() == [len(atoms) for atoms in presence]
    assert found.results.counts.dtype == np.int64
    assert found.results.ids.dtype == np.uint32
    assert found.results.offsets[-1] == len(found.results.ids) == sum(map(len, presence))
    for i in (0, 7, -1):
        assert set(found.atoms_in(i).ix.tolist()) == presence[i]
    assert [column.name for column in found.columns()] == ["frame", "time", "selected"]


def test_only_the_atoms_that_matter_are_read(universe: MDAnalysis.Universe) -> None:
    n_protein, n_oxygens = (len(universe.select_atoms(words)) for words in ("resid 1:40", "name OW"))
    whole = mdreel.Selection(universe, f"same residue as ({WORDS})")
    assert len(whole.atoms) <= n_protein + n_oxygens < len(universe.atoms) / 2
    assert len(mdreel.Selection(universe, "name CA and prop z > 20").atoms) == 214


def test_groups_and_strings_select_the_same(universe: MDAnalysis.Universe) -> None:
    base = universe.select_atoms("name OW")
    expected = mdreel.Selection(universe, WORDS).run(stop=3).results.ids
    inner = universe.select_atoms("around 3.5 (resid 1:40)", updating=True)
    for made in (
        mdreel.Selection(universe.select_atoms(WORDS, updating=True)),
        mdreel.Selection(base, "global (around 3.5 (resid 1:40)) and all"),
        mdreel.Selection(inner, "name OW"),
        mdreel.Selection(inner.select_atoms("name OW", updating=True)),
    ):
        np.testing.assert_array_equal(made.run(stop=3).results.ids, expected)


@pytest.mark.parametrize("n_workers", [1, 2, 3])
@pytest.mark.parametrize("backend", ["serial", "threads", "processes", "dask"])
def test_executors_select_the_same(universe: MDAnalysis.Universe, backend: str, n_workers: int) -> None:
    if backend == "serial" and n_workers > 1:
        pytest.skip("the serial executor has one worker")
    alone = mdreel.Selection(universe, WORDS).run(backend="serial").results
    found = mdreel.Selection(universe, WORDS).run(backend=backend, n_workers=n_workers, n_parts=4).results
    np.testing.assert_array_equal(found.ids, alone.ids)
    np.testing.assert_array_equal(found.offsets, alone.offsets)


def test_survival_and_stays_are_those_of_sets(universe: MDAnalysis.Universe, presence: list[set[int]]) -> None:
    found = mdreel.Selection(universe, WORDS).run()
    taus, shares = found.survival(tau_max=4)
    assert taus.tolist() == [0, 1, 2, 3, 4]
    for tau in range(5):
        windows = [presence[i : i + tau + 1] for i in range(len(presence) - tau)]
        kept = [len(set.intersection(*window)) / len(window[0]) for window in windows]
        np.testing.assert_allclose(shares[tau], np.mean(kept))
    stays = found.residence_times()
    assert stays[:, 2].sum() == found.results.counts.sum()
    for atom, first, length in stays.tolist():
        assert all(atom in presence[i] for i in range(first, first + length))
        assert first == 0 or atom not in presence[first - 1]
        assert first + length == len(presence) or atom not in presence[first + length]
    gaps = found.residence_times(intermittency=2)
    assert len(gaps) < len(stays)
    of_residues = found.residence_times(compound="residues")
    np.testing.assert_array_equal(of_residues[:, 1:], stays[:, 1:])  # each water has one oxygen
    assert set(of_residues[:, 0]) == set(universe.atoms.resindices[stays[:, 0]])


def test_topology_alone_is_enough() -> None:
    universe = MDAnalysis.Universe(PSF)
    found = mdreel.Selection(universe, "name CA and around 6 resid 1", trajectory=DCD).run()
    expected = mdreel.Selection(MDAnalysis.Universe(PSF, DCD), "name CA and around 6 resid 1").run()
    np.testing.assert_array_equal(found.results.ids, expected.results.ids)


def test_what_cannot_be_selected_again_is_refused(universe: MDAnalysis.Universe) -> None:
    for atoms, words, error, message in (
        (universe.atoms, None, SelectionError, "give a selection string, or select it with updating=True"),
        (universe, ["name CA", "name CB"], SelectionError, "one selection string.*join several with 'or'"),
        (universe, "arround 3 protein", SelectionError, "arround 3 protein"),
        (universe, "resname XYZ and around 3 protein", SelectionError, "no atom can match"),
        (universe, "around inf protein", MismatchError, "limit inf.*finite number"),
        (universe, "smarts CC and around 3 protein", UnsupportedError, "'smarts' cannot be evaluated again.*'group'"),
        (42, "all", SelectionError, "must be an AtomGroup or a Universe"),
    ):
        with pytest.raises(error, match=message):
            mdreel.Selection(atoms, words)
    no_bonds = MDAnalysis.Universe.empty(3, trajectory=True)
    with pytest.raises(SelectionError, match="needs bonds"):
        mdreel.Selection(no_bonds, "bonded prop x > 1")
    counted = mdreel.Selection(universe, WORDS, ids=False).run(stop=2)
    assert "ids" not in counted.results
    for ask in (counted.survival, counted.residence_times, lambda: counted.atoms_in(0)):
        with pytest.raises(MismatchError, match="ids=True"):
            ask()
    kept = mdreel.Selection(universe, WORDS).run(stop=2)
    with pytest.raises(MismatchError, match="frame 2 was not analysed"):
        kept.atoms_in(2)
    with pytest.raises(MismatchError, match="compound must be"):
        kept.survival(1, compound="molecules")  # type: ignore[arg-type]
    with pytest.raises(MismatchError, match="intermittency must be 0 or more"):
        kept.residence_times(-1)


def test_cylinder_that_is_larger_than_the_cell_names_frame_and_remedy(universe: MDAnalysis.Universe) -> None:
    with pytest.raises(MismatchError, match=r"frame 0: the cylinder .*periodic=False"):
        mdreel.Selection(universe, "cyzone 500 5 -5 protein").run()
    free = universe.select_atoms("cyzone 500 5 -5 protein", updating=True, periodic=False)
    assert mdreel.Selection(free).run(stop=1).results.counts[0] > 0


def test_coordinates_that_are_not_finite_are_an_error() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    positions = np.zeros((2, len(universe.atoms), 3), np.float32)
    positions[1, 9] = np.nan
    source = Source.memory(positions, np.arange(2.0))
    with pytest.raises(MismatchError, match="frame 1: atom 9 is at"):
        mdreel.Selection(universe, "prop x > 5", trajectory=source).run()


def test_selections_of_the_core_are_pickled_and_check_their_atoms() -> None:
    tree: Any = ("around", (None, 1.5, False), ("fixed", np.array([0], np.uint32)))
    selection = pickle.loads(pickle.dumps(FrameSelection(4, tree)))
    assert selection.needed.tolist() == selection.possible.tolist() == [0, 1, 2, 3]
    among = pickle.loads(pickle.dumps(selection.among(selection.needed)))
    positions = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 1.5]], np.float32)
    assert among.find(positions, None).tolist() == [1, 3]
    with pytest.raises(MismatchError, match="needs atom 3, which is not read"):
        selection.among(np.arange(3, dtype=np.uint32))
    with pytest.raises(MismatchError, match="has atom 7: there are 4"):
        FrameSelection(4, ("fixed", np.array([7], np.uint32)))
