"""Tests of transformations against MDAnalysis."""

import pickle
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis import transformations as peer
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC
from numpy.typing import NDArray

import mdreel
from mdreel.analysis.topology.spanning_forest import SpanningForest
from mdreel.errors import MismatchError, SelectionError, UnsupportedError
from mdreel.trajectory.convert import convert

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
SOME = "protein or (resname SOL and resid 215:260 and not name MW)"  # of which none is without mass


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    """AdK in a triclinic cell of water."""
    return MDAnalysis.Universe(TPR, XTC)


def positions(atoms: MDAnalysis.AtomGroup, *transformations: object, **options: object) -> NDArray[np.float64]:
    analysis = mdreel.from_function(lambda frame: frame, atoms)
    return analysis.run(transformations=transformations, stop=4, **options).results.timeseries


def as_peer(atoms: MDAnalysis.AtomGroup, *transformations: object) -> NDArray[np.float64]:
    other = atoms.universe.copy()
    other.trajectory.add_transformations(*(make(other) for make in transformations))
    return np.array([other.atoms[atoms.ix].positions for _ in other.trajectory[:4]])


def agree(found: NDArray[np.float64], expected: NDArray[np.float64]) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)  # the peer computes in single precision


def test_unwrap_agrees_with_mdanalysis(universe: MDAnalysis.Universe) -> None:
    some = universe.select_atoms(SOME)
    agree(
        positions(some, mdreel.transformations.unwrap(some)), as_peer(some, lambda u: peer.unwrap(u.select_atoms(SOME)))
    )
    # What is asked for is a part of a fragment: the rest is read besides.
    alpha = some.select_atoms("name CA")
    agree(
        positions(alpha, mdreel.transformations.unwrap(alpha)),
        as_peer(alpha, lambda u: peer.unwrap(u.select_atoms("protein"))),
    )
    for reference in ("com", "cog"):
        expected = [some.unwrap(reference=reference, inplace=False) for _ in universe.trajectory[:4]]
        agree(positions(some, mdreel.transformations.unwrap(some, reference=reference)), np.array(expected))


@pytest.mark.parametrize("compound", ["atoms", "group", "residues", "segments", "molecules", "fragments"])
@pytest.mark.parametrize("center", ["com", "cog"])
def test_wrap_agrees_with_mdanalysis(universe: MDAnalysis.Universe, compound: str, center: str) -> None:
    some = universe.select_atoms(SOME)
    expected = [some.wrap(compound=compound, center=center, inplace=False) for _ in universe.trajectory[:4]]
    agree(positions(some, mdreel.transformations.wrap(some, compound, center)), np.array(expected))


@pytest.mark.parametrize(
    "options", [{}, {"center": "mass"}, {"wrap": True}, {"point": [1.0, 2.0, 3.0]}, {"point": [0.0] * 3, "wrap": True}]
)
def test_center_in_box_agrees_with_mdanalysis(universe: MDAnalysis.Universe, options: dict) -> None:
    protein, some = universe.select_atoms("protein"), universe.atoms[::97]
    found = positions(some, mdreel.transformations.center_in_box(protein, **options))
    agree(found, as_peer(some, lambda u: peer.center_in_box(u.select_atoms("protein"), **options)))


def test_transformations_come_one_after_the_other(universe: MDAnalysis.Universe) -> None:
    protein, some = universe.select_atoms("protein"), universe.select_atoms(SOME)
    ours = (
        mdreel.transformations.unwrap(some),
        mdreel.transformations.center_in_box(protein, "mass"),
        mdreel.transformations.wrap(some, "fragments"),
    )
    expected = as_peer(
        some,
        lambda u: peer.unwrap(u.select_atoms(SOME)),
        lambda u: peer.center_in_box(u.select_atoms("protein"), center="mass"),
        lambda u: peer.wrap(u.select_atoms(SOME), compound="fragments"),
    )
    agree(positions(some, *ours), expected)


def test_nojump_agrees_with_mdanalysis(universe: MDAnalysis.Universe) -> None:
    some = universe.atoms[::53]
    agree(positions(some, mdreel.transformations.nojump()), as_peer(some, lambda u: peer.NoJump()))
    # Without jumps, and in a cell of constant size, the schemes are one.
    steps = np.random.default_rng(1).normal(0, 2, (200, 5, 3)).cumsum(axis=0).astype(np.float32)
    walk = MDAnalysis.Universe.empty(5, trajectory=True)
    walk.load_new((steps % 30).astype(np.float32), dimensions=[30, 30, 30, 90, 90, 90])
    for scheme in ("lattice", "toroidal"):
        found = mdreel.from_function(lambda frame: frame, walk.atoms).run(
            transformations=[mdreel.transformations.nojump(scheme)]
        )
        path = found.results.timeseries
        np.testing.assert_allclose(path - path[0], steps - steps[0], atol=1e-3)


def test_results_are_bitwise_identical_for_all_executors(universe: MDAnalysis.Universe) -> None:
    protein = universe.select_atoms("protein")
    transformations = [mdreel.transformations.unwrap(protein), mdreel.transformations.center_in_box(protein, wrap=True)]
    alone = mdreel.RMSD(protein).run(transformations=transformations, backend="serial").results.rmsd.tobytes()
    for options in ({"n_parts": 5}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2}):
        found = mdreel.RMSD(protein).run(transformations=transformations, **options).results.rmsd
        assert found.tobytes() == alone, options
    # In one pass with others, and of atoms that others need.
    one, other = mdreel.RMSD(protein), mdreel.Rg(universe.atoms[:5000])
    mdreel.run([one, other], transformations=transformations)
    assert one.results.rmsd.tobytes() == alone


def test_whole_molecules_keep_their_shape(universe: MDAnalysis.Universe) -> None:
    protein = universe.select_atoms("protein")
    radii = mdreel.Rg(protein).run(transformations=[mdreel.transformations.unwrap(protein)]).results.rgyr[:, 2]
    other = universe.copy()
    whole = other.select_atoms("protein")
    other.trajectory.add_transformations(peer.unwrap(whole))
    expected = [whole.radius_of_gyration() for _ in other.trajectory]
    np.testing.assert_allclose(radii, expected, rtol=0, atol=1e-4)
    # The reference is transformed as well: the first frame does not differ from itself.
    assert mdreel.RMSD(protein).run(transformations=[mdreel.transformations.unwrap(protein)]).results.rmsd[0, 2] < 1e-4


def test_transformed_source_is_pickled_and_converted(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    protein = universe.select_atoms("protein")
    source = mdreel.open(XTC).with_transformations([mdreel.transformations.unwrap(protein)])
    again = pickle.loads(pickle.dumps(source.with_on_error("skip")))
    assert (again.on_error, len(again.transformations)) == ("skip", 1)
    convert(source, tmp_path / "whole.xtc")
    whole = mdreel.Rg(protein, trajectory=tmp_path / "whole.xtc").run().results.rgyr
    expected = mdreel.Rg(protein, trajectory=again).run().results.rgyr
    np.testing.assert_allclose(whole[:, 2:], expected[:, 2:], atol=0.01)
    jumps = mdreel.open(XTC).with_transformations([mdreel.transformations.nojump()])
    convert(jumps, tmp_path / "path.dcd", n_workers=4)
    path = MDAnalysis.Universe(TPR, tmp_path / "path.dcd").trajectory[3].positions
    np.testing.assert_array_equal(
        path, positions(universe.atoms, mdreel.transformations.nojump())[3].astype(np.float32)
    )


def test_nojump_refuses_runs_that_are_not_in_order(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    rg = mdreel.Rg(universe.select_atoms("protein"))
    for options, expected in (
        ({"backend": "processes", "n_workers": 2}, "use the backend 'serial' instead of 'processes'"),
        ({"n_parts": 3}, "n_parts must be 1, not 3"),
        ({"checkpoint": tmp_path / "a"}, "checkpoint"),
    ):
        with pytest.raises(UnsupportedError, match=expected):
            rg.run(transformations=[mdreel.transformations.nojump()], **options)
    with pytest.raises(MismatchError, match="frame 2: it comes behind frame 5"):
        rg.run(transformations=[mdreel.transformations.nojump()], frames=[5, 2])


def test_transformations_refuse_invalid_input(universe: MDAnalysis.Universe) -> None:
    protein = universe.select_atoms("protein")
    cellless = MDAnalysis.Universe(PSF, DCD)
    for transformation in (
        mdreel.transformations.unwrap(cellless.atoms),
        mdreel.transformations.wrap(cellless.atoms),
        mdreel.transformations.center_in_box(cellless.atoms),
        mdreel.transformations.nojump(),
    ):
        with pytest.raises(MismatchError, match=r"frame 0: no .*cell.*needs one"):
            mdreel.Rg(cellless.atoms).run(transformations=[transformation])
    with pytest.raises(MismatchError, match="asked for"):
        mdreel.Rg(cellless.atoms).run(transformations=[mdreel.transformations.unwrap(universe.atoms[-1:])])
    with pytest.raises(SelectionError, match="no bonds"):
        mdreel.transformations.unwrap(MDAnalysis.Universe.empty(3, trajectory=True).atoms)
    with pytest.raises(SelectionError, match="the topology has no fragments: use another compound"):
        mdreel.transformations.wrap(MDAnalysis.Universe.empty(3, trajectory=True).atoms, "fragments")
    with pytest.raises(MismatchError, match=r"take one of mdreel\.transformations, such as unwrap"):
        mdreel.Rg(protein).run(transformations=[lambda ts: ts])
    for call in (
        lambda: mdreel.transformations.unwrap(protein, "center"),
        lambda: mdreel.transformations.wrap(protein, "chains"),
        lambda: mdreel.transformations.wrap(protein, "atoms", "mass"),
        lambda: mdreel.transformations.center_in_box(protein, "com"),
        lambda: mdreel.transformations.center_in_box(protein, point=[1.0]),
    ):
        with pytest.raises(MismatchError):
            call()
    with pytest.raises(UnsupportedError, match="known: lattice, toroidal"):
        mdreel.transformations.nojump("hybrid")


def test_parents_are_bonded_and_come_first(universe: MDAnalysis.Universe) -> None:
    protein = universe.select_atoms("protein")
    forest = SpanningForest.of(universe, universe.select_atoms("protein and name CA or index 20000").ix)
    assert set(forest.atoms) >= set(protein.ix)
    bonds = {tuple(sorted(pair)) for pair in universe.bonds.indices.tolist()}
    starts = {0, *forest.ends[:-1].tolist()}
    for number, (atom, parent) in enumerate(zip(forest.atoms.tolist(), forest.parents.tolist(), strict=True)):
        if number in starts:
            assert parent == number
        else:
            assert parent < number
            assert tuple(sorted((atom, int(forest.atoms[parent])))) in bonds
