"""Tests of contacts of residues against a loop over all atoms and against mdtraj."""

import itertools
import warnings
from pathlib import Path
from typing import Any

import MDAnalysis
import mdtraj
import numpy as np
import pytest
from MDAnalysis.lib.distances import apply_PBC, distance_array
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

import mdreel
from homodimer import dimer_system, homodimer
from mdreel.errors import MdreelWarning, MismatchError, SelectionError, UnitWarning
from peptide_system import in_memory, peptide, peptide_positions

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
CELL = [30, 32, 34, 70, 80, 100]
SCHEMES = ("closest-heavy", "closest", "ca", "cb", "sidechain", "sidechain-heavy")


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


def used(atoms: MDAnalysis.AtomGroup, scheme: str) -> MDAnalysis.AtomGroup:
    """Select the atoms of a scheme in words, for the names of CHARMM."""
    words = {
        "closest": "all",
        "closest-heavy": "not name H*",
        "ca": "name CA",
        "cb": "name CB or (resname GLY and name CA)",
        "sidechain": "not name N HN CA HA C O",
        "sidechain-heavy": "not name N HN CA HA C O and (resname GLY or not name H*)",
    }
    return atoms.select_atoms(words[scheme])


def loop(first: Any, second: Any, dimensions: Any = None, separation: int = 3) -> dict[tuple[int, int], float]:
    """Return the distance of each pair of residues in the current frame, one after the other."""
    found = {}
    for one, other in itertools.product(first.residues, second.residues):
        is_near = one.segindex == other.segindex and abs(one.ix - other.ix) < separation
        if one.ix == other.ix or is_near or (first is second and one.ix > other.ix):
            continue
        positions = [(group & residue.atoms).positions for group, residue in ((first, one), (second, other))]
        found[one.ix, other.ix] = float(distance_array(*positions, box=dimensions).min())
    return found


def assert_contacts(
    run: mdreel.ResidueContacts, i: int, distances: dict[tuple[int, int], float], cutoff: float
) -> None:
    """Fail unless a frame has the contacts that the distances of all pairs tell."""
    pairs, found = run.contacts_in(i)
    near = {pair: distance for pair, distance in distances.items() if distance <= cutoff}
    assert [tuple(pair) for pair in pairs.tolist()] == sorted(near)
    np.testing.assert_allclose(found, [near[pair] for pair in sorted(near)], rtol=0, atol=1e-4)


@pytest.mark.parametrize("dimensions", [None, CELL], ids=["no cell", "triclinic"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_contacts_are_those_of_a_loop_over_all_atoms(scheme: str, dimensions: Any) -> None:
    universe, frames = peptide(), peptide_positions()[::30]
    cells = np.tile(np.array(dimensions or [0] * 6, np.float32), (len(frames), 1))
    cutoff = 7.3 if scheme in ("ca", "cb") else 5.3
    source = in_memory(frames, cells)
    run = mdreel.ResidueContacts(universe, scheme=scheme, cutoff=cutoff, trajectory=source).run()
    universe.load_new(frames)
    atoms = used(universe.atoms, scheme)
    assert run.results.counts.sum() > 0
    for i, _ in enumerate(universe.trajectory):
        assert_contacts(run, i, loop(atoms, atoms, dimensions), cutoff)


def test_contacts_of_two_groups_are_those_of_a_loop() -> None:
    universe, frames = peptide(), peptide_positions()[::40]
    first, second = universe.select_atoms("resid 1:6"), universe.select_atoms("resid 7:14")
    heavy = [used(group, "closest-heavy") for group in (second, first)]
    run = mdreel.ResidueContacts(second, first, cutoff=6.0, trajectory=in_memory(frames)).run()
    universe.load_new(frames)
    for i, _ in enumerate(universe.trajectory):
        assert_contacts(run, i, loop(*heavy, separation=1), 6.0)
    assert run.contact_map().shape == (8, 6)
    swapped = mdreel.ResidueContacts(first, second, cutoff=6.0, trajectory=in_memory(frames)).run()
    np.testing.assert_array_equal(swapped.contact_map(), run.contact_map().T)


def test_groups_that_overlap_count_each_pair_once() -> None:
    universe, source = peptide(), in_memory(peptide_positions()[:9])
    both = mdreel.ResidueContacts(universe, universe, cutoff=6.0, trajectory=source).run()
    alone = mdreel.ResidueContacts(universe, cutoff=6.0, min_separation=1, trajectory=source).run()
    for name in alone.results:
        np.testing.assert_array_equal(both.results[name], alone.results[name])
    part = mdreel.ResidueContacts(universe.select_atoms("resid 1:5"), universe, cutoff=6.0, trajectory=source).run()
    expected = alone.contact_map()[:5]
    np.testing.assert_array_equal(part.contact_map(), expected)


Loaded = tuple[MDAnalysis.AtomGroup, mdtraj.Trajectory]


@pytest.fixture(scope="module")
def with_cell(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """Residues of AdK in a triclinic cell, for mdreel and mdtraj."""
    path, frames = tmp_path_factory.mktemp("mdtraj") / "part.gro", MDAnalysis.Universe(GRO)
    atoms = frames.select_atoms("protein and resid 1:60")
    atoms.write(path)
    part = MDAnalysis.Universe(path)
    part.load_new(atoms.positions[None], dimensions=frames.dimensions)
    loaded = mdtraj.load(path)
    loaded.xyz = part.atoms.positions[None] / 10
    return part.atoms, loaded


@pytest.fixture(scope="module")
def without_cell(universe: MDAnalysis.Universe) -> Loaded:
    """Residues of AdK without a cell."""
    atoms = universe.select_atoms("resid 1:60")
    return atoms, mdtraj.load(DCD, top=PSF, atom_indices=atoms.ix)[:2]


def test_distances_in_a_cell_are_those_of_mdtraj(with_cell: Loaded) -> None:
    for scheme in (one for one in SCHEMES if one != "cb"):
        assert_as_in_mdtraj(with_cell, scheme, pbc=True)
    assert_as_in_mdtraj(with_cell, "closest-heavy", pbc=False)


def test_distances_without_a_cell_are_those_of_mdtraj(without_cell: Loaded) -> None:
    for scheme in ("ca", "closest", "closest-heavy"):  # mdtraj takes HN of CHARMM for a side chain
        assert_as_in_mdtraj(without_cell, scheme, pbc=True)


def assert_as_in_mdtraj(system: Loaded, scheme: Any, pbc: bool) -> None:
    """Fail unless each distance has the value of mdtraj, and the same pairs are in contact."""
    atoms, loaded = system
    cutoff = 9.0
    run = mdreel.ResidueContacts(atoms, scheme=scheme, cutoff=cutoff, pbc=pbc).run(stop=len(loaded))
    distances, pairs = mdtraj.compute_contacts(loaded, "all", scheme, periodic=pbc)
    for i, frame in enumerate(10 * distances):
        expected = dict(zip(map(tuple, pairs.tolist()), frame.tolist(), strict=True))
        found, ours = run.contacts_in(i)
        contacts = [tuple(pair) for pair in found.tolist()]
        np.testing.assert_allclose(ours, [expected[pair] for pair in contacts], rtol=0, atol=1e-4)
        assert {pair for pair, one in expected.items() if one < cutoff - 1e-4} <= set(contacts)


def test_statistics_are_those_of_the_contacts_of_each_frame(universe: MDAnalysis.Universe) -> None:
    run = mdreel.ResidueContacts(universe).run(step=3)
    found, n_frames = run.results, run.n_frames
    present = np.zeros((len(found.pairs), n_frames), bool)
    lengths = np.full(present.shape, np.nan)
    for i in range(n_frames):
        part = slice(found.offsets[i], found.offsets[i + 1])
        assert (np.diff(found.contacts[part].astype(int)) > 0).all()
        present[found.contacts[part], i], lengths[found.contacts[part], i] = True, found.distances[part]
    np.testing.assert_array_equal(found.counts, present.sum(axis=0))
    np.testing.assert_array_equal(found.frequency, present.mean(axis=1))
    np.testing.assert_allclose(found.mean, np.nanmean(lengths, axis=1), atol=1e-6)
    np.testing.assert_allclose(found.minimum, np.nanmin(lengths, axis=1), atol=1e-6)
    starts = present & ~np.pad(present, ((0, 0), (1, 0)))[:, :-1]
    np.testing.assert_array_equal(found.events, starts.sum(axis=1))
    np.testing.assert_array_equal(found.first_frame, run.frames[present.argmax(axis=1)])
    np.testing.assert_allclose(found.duration, present.sum(axis=1) / starts.sum(axis=1))
    np.testing.assert_allclose(found.lifetime, found.duration * 3, rtol=1e-6)
    stays = run.stays()
    np.testing.assert_array_equal(np.bincount(stays[:, 0]), found.events)
    np.testing.assert_array_equal(np.bincount(stays[:, 0], stays[:, 2]), present.sum(axis=1))
    assert len(run.stays(intermittency=2)) < len(stays)
    summary = mdreel.ResidueContacts(universe, series=False).run(step=3)
    assert {"contacts", "distances", "offsets"}.isdisjoint(summary.results)
    for name in summary.results:
        np.testing.assert_array_equal(summary.results[name], found[name])
    for kept in (summary.stays, lambda: summary.contacts_in(0), summary.contact_columns):
        with pytest.raises(MismatchError, match="series=True"):
            kept()


def test_periodic_images_have_the_same_contacts() -> None:
    universe = MDAnalysis.Universe(GRO, XTC)
    atoms = universe.select_atoms("protein and resid 1:80")
    whole = mdreel.ResidueContacts(atoms).run(stop=3)
    frames, cells = [], []
    for frame in universe.trajectory[:3]:
        middle = frame.triclinic_dimensions.sum(axis=0) / 2
        frames.append(apply_PBC((frame.positions - atoms.center_of_geometry()).astype(np.float32), frame.dimensions))
        cells.append(frame.dimensions.copy())
        assert np.ptp(frames[-1][atoms.ix], axis=0).min() > 0.9 * middle[2], "the cell cuts the protein"
    moved = mdreel.ResidueContacts(atoms, trajectory=in_memory(np.array(frames), np.array(cells))).run()
    for name in ("pairs", "contacts", "offsets", "counts"):
        np.testing.assert_array_equal(moved.results[name], whole.results[name])
    np.testing.assert_allclose(moved.results.distances, whole.results.distances, atol=2e-4)
    without = mdreel.ResidueContacts(atoms, pbc=False).run(stop=3)
    np.testing.assert_array_equal(without.results.counts, whole.results.counts)


def test_listed_pairs_count_in_any_order_and_only_these(universe: MDAnalysis.Universe) -> None:
    every = mdreel.ResidueContacts(universe, min_separation=1).run(stop=4)
    some = every.results.pairs[::5]
    given = np.concatenate([some[::-1, ::-1], some[:3]])
    run = mdreel.ResidueContacts(universe, pairs=given).run(stop=4)
    np.testing.assert_array_equal(run.results.pairs, some)
    np.testing.assert_array_equal(run.results.frequency, every.results.frequency[::5])
    np.testing.assert_array_equal(run.residues.ix, np.unique(some))


def test_separation_does_not_apply_between_chains() -> None:
    system = dimer_system()
    run = mdreel.ResidueContacts(system.universe, cutoff=20.0, trajectory=system.trajectory).run()
    chains = system.universe.residues.segindices[run.results.pairs]
    apart = np.diff(run.results.pairs)[:, 0]
    is_one = chains[:, 0] == chains[:, 1]
    assert apart[is_one].min() == 3
    assert apart[~is_one].min() < 3


def test_chains_out_of_order_keep_pairs_ascending() -> None:
    system = dimer_system()
    universe = system.universe
    expected = mdreel.ResidueContacts(universe, cutoff=9.0, trajectory=system.trajectory).run()
    chains = homodimer(("P", "P"))
    chains.add_TopologyAttr("chainIDs", np.where(chains.atoms.resindices < 14, "Z", "A"))
    found = mdreel.ResidueContacts(chains, cutoff=9.0, trajectory=system.trajectory).run()
    for name in expected.results:
        np.testing.assert_array_equal(found.results[name], expected.results[name])


def test_maps_and_networks_show_the_frequencies(universe: MDAnalysis.Universe) -> None:
    early, late = (mdreel.ResidueContacts(universe).run(**part) for part in ({"stop": 49}, {"start": 49}))
    frequencies, pairs = early.contact_map(), early.results.pairs
    np.testing.assert_array_equal(frequencies, frequencies.T)
    np.testing.assert_array_equal(frequencies[pairs[:, 0], pairs[:, 1]], early.results.frequency)
    assert np.count_nonzero(frequencies) == 2 * len(pairs)
    assert np.isnan(early.contact_map("mean")[0, 1])
    assert early.contact_map("lifetime")[tuple(pairs[0])] == early.results.lifetime[0]
    np.testing.assert_array_equal(late.difference(early), late.contact_map() - frequencies)
    edges = early.edge_list(min_frequency=0.5)
    assert len(edges) == (early.results.frequency >= 0.5).sum()
    first, second, attributes = edges[0]
    assert (first, second) == tuple(early.residue_labels[i] for i in pairs[early.results.frequency >= 0.5][0])
    assert attributes["weight"] >= 0.5
    for figure in (early.plot(), late.plot_difference(early, title="late")):
        assert figure.axes[0].get_xlabel() == "Residue"
    few = mdreel.ResidueContacts(universe.select_atoms("resid 1:40"), universe.select_atoms("resid 80:84")).run(stop=3)
    named = [tick.get_text() for tick in few.plot().axes[0].get_xticklabels()]
    assert named == [f"{residue.resname} {residue.resid}" for residue in few.other_residues]
    other = mdreel.ResidueContacts(universe.select_atoms("resid 2:41")).run(stop=3)
    with pytest.raises(MismatchError, match="214 and 40 residues"):
        early.difference(other)
    shifted = mdreel.ResidueContacts(universe.select_atoms("resid 1:40")).run(stop=3)
    with pytest.raises(MismatchError, match="residue 0 has the number 2 in one run and 1 in the other"):
        other.difference(shifted)


def test_residues_without_the_atoms_of_a_scheme_are_named() -> None:
    universe = MDAnalysis.Universe(GRO, XTC)
    near = universe.select_atoms("protein or (resid 215:218 and resname SOL)")
    with pytest.warns(MdreelWarning, match=r"4 of 218 residues are left out.*alpha carbon.*SOL.*closest-heavy"):
        run = mdreel.ResidueContacts(near, scheme="ca", cutoff=8.0)
    assert len(run.residues) == 214
    water = universe.select_atoms("resname SOL")[:30]
    with pytest.raises(SelectionError, match="no residue has an atom in the side chain"):
        mdreel.ResidueContacts(water, scheme="sidechain")
    with pytest.raises(SelectionError, match=r"pairs names residues.*SOL 215"):
        mdreel.ResidueContacts(near, pairs=[[3, 214]], scheme="ca")
    with pytest.warns(MdreelWarning, match=r"other: 20 of 214 residues.*beta carbon"):
        mdreel.ResidueContacts(near, universe.select_atoms("protein and not (resname GLY and name CA)"), scheme="cb")
    universe.atoms[universe.select_atoms("protein").ix[5]].residue.atoms[:2].names = ["CA", "CA"]
    with pytest.raises(SelectionError, match="MET 1 has several atoms for scheme 'ca'"):
        mdreel.ResidueContacts(near, scheme="ca")


def test_calcium_is_no_alpha_carbon() -> None:
    ions = MDAnalysis.Universe.empty(3, 3, atom_resindex=[0, 1, 2], residue_segindex=[0] * 3, trajectory=True)
    for name, values in (("names", ["CA"] * 3), ("resnames", ["ALA", "CAL", "GLY"]), ("resids", [1, 2, 3])):
        ions.add_TopologyAttr(name, values)
    run = mdreel.ResidueContacts(ions, scheme="ca", min_separation=1)
    assert run.residues.resnames.tolist() == ["ALA", "GLY"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"cutoff": 0.0}, "cutoff must be more than 0"),
        ({"cutoff": -4.5}, "cutoff must be more than 0"),
        ({"cutoff": np.nan}, "cutoff must be a number"),
        ({"scheme": "heavy"}, "scheme must be one of 'closest-heavy'"),
        ({"min_separation": 0}, "min_separation must be 1 or more"),
        ({"min_separation": 214}, "there are no pairs: no two residues are 214 or more apart"),
        ({"pairs": [[0, 0]]}, "pair 0 is residue 0 with itself"),
        ({"pairs": [[0, 214]]}, "residue index 214: the Universe has 214 residues"),
        ({"pairs": [[0, -1]]}, "residue index -1"),
        ({"pairs": np.empty((0, 2), int)}, "pairs must be residue indices of shape"),
        ({"pairs": [[0.0, 5.0]]}, "pairs must be residue indices of shape"),
        ({"pairs": [[0, 5]], "other": "universe"}, "other and pairs both choose"),
        ({"other": "copy"}, "other is in another Universe"),
    ],
    ids=str,
)
def test_invalid_arguments_are_refused(universe: MDAnalysis.Universe, arguments: Any, expected: str) -> None:
    groups = {"universe": universe, "copy": universe.copy()}
    arguments = {name: groups.get(value, value) if name == "other" else value for name, value in arguments.items()}
    with pytest.raises(MismatchError, match=expected):
        mdreel.ResidueContacts(universe, **arguments)
    with pytest.raises(SelectionError, match="no atoms"):
        mdreel.ResidueContacts(universe, universe.atoms[:0])
    with pytest.warns(UnitWarning, match="cutoff is 0.45 Å"):
        mdreel.ResidueContacts(universe, cutoff=0.45)


def test_cutoff_beyond_half_the_cell_is_refused() -> None:
    universe, frames = peptide(), peptide_positions()[:3]
    source = in_memory(frames, np.tile(np.array([12, 20, 20, 90, 90, 90], np.float32), (3, 1)))
    with pytest.raises(MismatchError, match=r"frame 0.*6.5 Å apart.*half the shortest lattice vector.*6.000 Å"):
        mdreel.ResidueContacts(universe, cutoff=6.5, trajectory=source).run()
    assert mdreel.ResidueContacts(universe, cutoff=5.9, trajectory=source).run().results.counts.min() > 0


def test_no_contacts_give_empty_tables(tmp_path: Path) -> None:
    universe, frames = peptide(), peptide_positions()[:1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = mdreel.ResidueContacts(universe, cutoff=0.5, trajectory=in_memory(frames)).run()
    assert run.results.pairs.shape == (0, 2)
    assert run.results.counts.tolist() == [0]
    assert not run.contact_map().any()
    assert run.edge_list() == []
    assert len(run.save(tmp_path / "none.csv").read_text().splitlines()) == 1
    run.plot()
