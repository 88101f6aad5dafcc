"""Tests of interaction fingerprints against slow loops over all sites."""

import pickle
import sys
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.lib.distances import minimize_vectors
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

import mdreel
from mdreel.analysis import InteractionFingerprint
from mdreel.analysis.fingerprints.interactions import DEFAULT, DEFINITIONS
from mdreel.errors import MdreelWarning, MismatchError, SelectionError, UnitWarning, UnsupportedError
from peptide_system import in_memory

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
FOLDS = {"CationPi", "PiCation", "FaceToFace", "EdgeToFace"}
Found = dict[tuple[int, int, str], list[tuple[tuple[int, ...], tuple[int, ...], float]]]


class Frame:
    """Vectors between atoms of a frame, with minimum images."""

    def __init__(self, positions: np.ndarray, cell: np.ndarray | None) -> None:
        self.positions, self.cell = positions.astype(np.float64), cell

    def vector(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        if self.cell is None:
            return end - start
        return minimize_vectors((end - start)[None].astype(np.float64), self.cell.astype(np.float32))[0]

    def ring(self, atoms: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """The centre and the normal of a ring."""
        first = self.positions[atoms[0]]
        whole = np.array([first + self.vector(first, self.positions[atom]) for atom in atoms])
        centre = whole.mean(axis=0)
        return centre, np.cross(whole[0] - centre, whole[1] - centre)


def degrees(u: np.ndarray, v: np.ndarray, folds: bool = False) -> float:
    cosine = np.dot(u, v) / np.linalg.norm(u) / np.linalg.norm(v)
    angle = float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
    return min(angle, 180 - angle) if folds else angle


def is_stacked(frame: Frame, one: tuple[int, ...], other: tuple[int, ...], is_edge: bool) -> float | None:
    (first, n), (second, m) = frame.ring(one), frame.ring(other)
    between = frame.vector(first, second)
    distance = float(np.linalg.norm(between))
    low, high, tilt = (50, 90, 30) if is_edge else (0, 35, 33)
    if distance > (6.5 if is_edge else 5.5) or not low <= degrees(n, m, True) <= high:
        return None
    if min(degrees(n, between, True), degrees(m, between, True)) > tilt:
        return None
    if is_edge:
        line = np.cross(n, m)
        point = np.linalg.solve(np.array([n, m, line]), np.array([0, m @ between, 0]))
        if min(np.linalg.norm(point), np.linalg.norm(point - between)) > 1.5:
            return None
    return distance


def bond(frame: Frame, acceptor: tuple[int, ...], donor: tuple[int, ...]) -> float | None:
    at = frame.positions
    distance = float(np.linalg.norm(frame.vector(at[acceptor[0]], at[donor[0]])))
    arms = [frame.vector(at[donor[1]], at[atom]) for atom in (donor[0], acceptor[0])]
    return distance if distance <= 3.5 and degrees(*arms) >= 130 else None


def above(frame: Frame, cation: tuple[int, ...], ring: tuple[int, ...]) -> float | None:
    centre, normal = frame.ring(ring)
    up = frame.vector(centre, frame.positions[cation[0]])
    distance = float(np.linalg.norm(up))
    return distance if distance <= 4.5 and degrees(normal, up, True) <= 30 else None


def within(limit: float) -> Callable[..., float | None]:
    def near(frame: Frame, one: tuple[int, ...], other: tuple[int, ...]) -> float | None:
        distance = float(np.linalg.norm(frame.vector(frame.positions[one[0]], frame.positions[other[0]])))
        return distance if distance <= limit else None

    return near


def pi_stacking(frame: Frame, one: tuple[int, ...], other: tuple[int, ...]) -> float | None:
    face = is_stacked(frame, one, other, False)
    return is_stacked(frame, one, other, True) if face is None else face


RULES: dict[str, Callable[..., float | None]] = {
    "Hydrophobic": within(4.5),
    "HBAcceptor": bond,
    "HBDonor": lambda frame, one, other: bond(frame, other, one),
    "Cationic": within(4.5),
    "Anionic": within(4.5),
    "CationPi": above,
    "PiCation": lambda frame, one, other: above(frame, other, one),
    "PiStacking": pi_stacking,
    "MetalDonor": within(2.8),
    "MetalAcceptor": within(2.8),
}


def expected(run: InteractionFingerprint, frame: Frame, name: str) -> Found:
    """All occurrences of an interaction in a frame, by a loop over all sites that may be near."""
    kinds = DEFINITIONS[name].sites
    sites = [
        [tuple(run._indices[list(site)].tolist()) for site in run._sites[side][kind]] for side, kind in enumerate(kinds)
    ]
    resindices = run.atomgroup.universe.atoms.resindices
    found: Found = defaultdict(list)
    if not all(sites):
        return found
    starts = [np.array([frame.positions[site[0]] for site in of_side]) for of_side in sites]
    for i, one in enumerate(sites[0]):
        d = starts[1] - starts[0][i]
        if frame.cell is not None:
            d = minimize_vectors(d, frame.cell.astype(np.float32))
        for j in np.flatnonzero(np.linalg.norm(d, axis=1) < 12):
            other = sites[1][j]
            pair = int(resindices[one[0]]), int(resindices[other[0]])
            if pair[0] == pair[1] or (len(run._groups) == 1 and pair[0] > pair[1]):
                continue
            distance = RULES[name](frame, one, other)
            if distance is not None:
                found[(*pair, name)].append((one, other, distance))
    return found


def compare(run: InteractionFingerprint, i: int, frame: Frame) -> int:
    """Compare the interactions of a frame with those of the loop; return their number."""
    listed: Found = defaultdict(list)
    for each in run.occurrences_in(i):
        listed[(*each.residues, each.interaction)].append((each.atoms, each.other_atoms, each.distance))
    n_found = 0
    for name in set(run._names) & set(RULES):
        loop = expected(run, frame, name)
        assert {key for key in listed if key[2] == name} == set(loop), name
        for key, rows in loop.items():
            n_found += len(rows)
            ours = sorted(listed[key])
            assert [each[:2] for each in ours] == [each[:2] for each in sorted(rows)]
            np.testing.assert_allclose([each[2] for each in ours], [each[2] for each in sorted(rows)], atol=2e-4)
    return n_found


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


@pytest.fixture(scope="module")
def lid(universe: MDAnalysis.Universe) -> InteractionFingerprint:
    groups = [universe.select_atoms(each) for each in ("resid 122:159", "resid 1:121 160:214")]
    return InteractionFingerprint(*groups, atom_indices=True).run(step=20)


def test_interactions_of_two_groups_agree_with_a_loop(
    universe: MDAnalysis.Universe, lid: InteractionFingerprint
) -> None:
    assert set(DEFAULT) - set(lid.results.interactions) == {"PiStacking", "CationPi"}
    for i, _ in enumerate(universe.trajectory[::20]):
        assert compare(lid, i, Frame(universe.atoms.positions, None)) > 10


def test_interactions_within_a_group_agree_with_a_loop_and_count_once(universe: MDAnalysis.Universe) -> None:
    run = InteractionFingerprint(universe, interactions=[*RULES], atom_indices=True).run(step=60)
    assert (run.results.pairs[:, 0] < run.results.pairs[:, 1]).all()
    assert set(DEFAULT) - set(run.results.interactions) == {"VdWContact", "CationPi"}
    for i, _ in enumerate(universe.trajectory[::60]):
        assert compare(run, i, Frame(universe.atoms.positions, None)) > 200


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_interactions_across_the_boundary_of_a_triclinic_cell_agree_with_a_loop() -> None:
    loaded = MDAnalysis.Universe(TPR, XTC)
    protein = loaded.select_atoms("protein")
    near = loaded.select_atoms("(resname SOL NA+ and around 4 protein)").residues.atoms
    run = InteractionFingerprint(protein, near, [*RULES], atom_indices=True).run(stop=2)
    whole = InteractionFingerprint(protein, atom_indices=True).run(stop=2)
    for i, frame in enumerate(loaded.trajectory[:2]):
        at = Frame(loaded.atoms.positions, frame.dimensions)
        assert compare(run, i, at) > 100
        assert compare(whole, i, at) > 200
    rng = np.random.default_rng(3)
    frames, cells = [], []
    for frame in loaded.trajectory[:2]:
        rows = MDAnalysis.lib.mdamath.triclinic_vectors(frame.dimensions)
        frames.append(loaded.atoms.positions + rng.integers(-2, 3, (len(loaded.atoms), 3)) @ rows)
        cells.append(frame.dimensions.copy())
    moved = InteractionFingerprint(protein, trajectory=in_memory(np.array(frames), np.array(cells))).run()
    np.testing.assert_allclose(moved.results.counts, whole.results.counts, atol=4)


def test_contacts_are_those_of_radii(universe: MDAnalysis.Universe, lid: InteractionFingerprint) -> None:
    from MDAnalysis.guesser.tables import vdwradii

    elements = [{"C": 1.7}.get(name[0], vdwradii[name[0]]) for name in universe.atoms.names]
    radii = np.array(elements)
    one, other = (universe.select_atoms(each) for each in ("resid 122:159", "resid 1:121 160:214"))
    for i, _ in enumerate(universe.trajectory[::20]):
        d = MDAnalysis.lib.distances.distance_array(one.positions.astype(np.float64), other.positions)
        near = d - radii[one.ix][:, None] - radii[other.ix]
        pairs = {(one.ix[a], other.ix[b]) for a, b in np.argwhere(near <= 0)}
        listed = [each for each in lid.occurrences_in(i) if each.interaction == "VdWContact"]
        found = {(each.atoms[0], each.other_atoms[0]) for each in listed}
        assert len(found) == len(listed) > 10
        at_limit = {(one.ix[a], other.ix[b]) for a, b in np.argwhere(abs(near) < 1e-4)}
        assert found - at_limit == pairs - at_limit


def test_columns_vectors_and_similarities_belong_together(lid: InteractionFingerprint) -> None:
    found, bits, counts = lid.results, lid.matrix(), lid.matrix(count=True)
    assert bits.dtype == bool
    assert counts.dtype == np.uint32
    np.testing.assert_array_equal(bits, counts > 0)
    np.testing.assert_array_equal(bits.mean(axis=0), found.frequency)
    np.testing.assert_array_equal(bits.sum(axis=1), found.counts)
    assert int(counts.sum()) == len(found.distances) == len(found.sites)
    matrix = lid.tanimoto()
    for i, j in product(range(lid.n_frames), repeat=2):
        assert matrix[i, j] == pytest.approx((bits[i] & bits[j]).sum() / (bits[i] | bits[j]).sum())
        smaller, larger = np.minimum(counts[i], counts[j]).sum(), np.maximum(counts[i], counts[j]).sum()
        assert lid.tanimoto(count=True)[i, j] == pytest.approx(smaller / larger)
    np.testing.assert_allclose(lid.tanimoto(frame=-1), matrix[-1])
    edges = lid.edge_list(min_frequency=0.5)
    assert len(edges) == (found.frequency >= 0.5).sum() > 0
    assert all(attributes["weight"] >= 0.5 and attributes["occurrences"] >= 1 for _, _, attributes in edges)
    table = {column.name: column.values for column in lid.entry_columns()}
    assert len(table["interaction"]) == len(found.entries)
    first = {column.name: column.values for column in lid.columns()}["first_frame"]
    np.testing.assert_array_equal(first, lid.frames[bits.argmax(axis=0)])


def test_layout_of_the_data_frame_is_that_of_prolif(lid: InteractionFingerprint) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = lid.to_dataframe()
    assert frame.columns.names == ["ligand", "protein", "interaction"]
    assert frame.index.name == "Frame"
    assert all(each.kind == "b" for each in frame.dtypes)
    assert frame.shape == lid.matrix().shape
    assert frame["LYS136"]["ASP118"]["Cationic"].all()
    assert len(lid.to_dataframe(drop_empty=False).columns) % len(DEFAULT) == 0
    np.testing.assert_array_equal(lid.to_dataframe(count=True).sum().sum(), lid.results.occurrences.sum())


def test_names_and_values_of_the_wide_table_belong_together(lid: InteractionFingerprint) -> None:
    names, values = lid._wide(count=True, drop_empty=True)
    assert len(names) == len(set(names)) == len(lid.results.pairs)
    residues = lid.atomgroup.universe.residues
    labels = [f"{residue.resname}{residue.resid}" for residue in residues]
    expected = {
        (labels[first], labels[second], str(name)): column
        for (first, second), name, column in zip(
            lid.results.pairs, lid.results.interactions, lid.matrix(count=True).T, strict=True
        )
    }
    for name, column in zip(names, values.T, strict=True):
        np.testing.assert_array_equal(column, expected[name])
    every, wide = lid._wide(count=False, drop_empty=False)
    assert len(every) == len({name[:2] for name in every}) * len(DEFAULT)
    assert wide.sum() == len(lid.results.entries)


def test_parameters_change_their_interaction_alone(universe: MDAnalysis.Universe) -> None:
    groups = [universe.select_atoms(each) for each in ("resid 122:159", "resid 1:121 160:214")]
    names = ["Hydrophobic", "HBDonor", "PiStacking", "VdWContact"]

    def counted(**parameters: dict[str, object]) -> dict[str, int]:
        run = InteractionFingerprint(*groups, names, parameters).run(step=30).results
        return {name: int(run.occurrences[run.interactions[run.entries] == name].sum()) for name in names}

    before = counted()
    for name, given in (
        ("Hydrophobic", {"distance": 4.0}),
        ("HBDonor", {"DHA_angle": (150, 180)}),
        ("VdWContact", {"tolerance": 0.5}),
        ("VdWContact", {"vdwradii": {"H": 0.5}}),
        ("PiStacking", {"ftf_kwargs": {"distance": 15.0, "plane_angle": (0, 90), "normal_to_centroid_angle": (0, 90)}}),
    ):
        after = counted(**{name: given})
        assert {one for one in names if after[one] != before[one]} == {name}, name


def test_wrong_arguments_are_named(universe: MDAnalysis.Universe) -> None:
    few = universe.select_atoms("resid 1:5")
    for arguments, message in (
        ({"interactions": ["HBond"]}, "names of Hydrophobic, .* not 'HBond'"),
        ({"interactions": []}, "not an empty list"),
        ({"parameters": {"XBDonor": {}}}, "not one of the chosen interactions"),
        ({"parameters": {"HBDonor": {"angle": (1, 2)}}}, "HBDonor has no parameter 'angle': known are distance, DHA"),
        ({"parameters": {"PiStacking": {"distance": 3}}}, "known are ftf_kwargs, etf_kwargs"),
        ({"parameters": {"PiStacking": {"ftf_kwargs": {"x": 3}}}}, "no parameter 'x'"),
        ({"parameters": {"HBDonor": {"DHA_angle": (180, 130)}}}, "two ascending angles from 0 to 180"),
        ({"parameters": {"HBDonor": {"DHA_angle": 130}}}, "must be two angles in degrees"),
        ({"parameters": {"Hydrophobic": {"distance": -1}}}, "must be more than 0 Å"),
        ({"parameters": {"Hydrophobic": {"distance": "far"}}}, "must be a length in Å, not 'far'"),
        ({"parameters": {"VdWContact": {"vdwradii": {"C": -1}}}}, "vdwradii of VdWContact must be from 0"),
    ):
        with pytest.raises(MismatchError, match=message):
            InteractionFingerprint(few, **arguments)
    with pytest.warns(UnitWarning, match="0.45 nm are 4.5 Å"):
        InteractionFingerprint(few, parameters={"Hydrophobic": {"distance": 0.45}})
    with pytest.raises(MismatchError, match="other is in another Universe"):
        InteractionFingerprint(few, MDAnalysis.Universe(PSF, DCD).atoms)
    with pytest.raises(SelectionError, match="have no hydrogens"):
        InteractionFingerprint(MDAnalysis.Merge(few.select_atoms("not name H*")))
    run = InteractionFingerprint(few).run(stop=1)
    with pytest.raises(MismatchError, match="atom_indices=True"):
        run.occurrences_in(0)
    with pytest.warns(MdreelWarning, match="no atoms that can take part in CationPi"):
        without = InteractionFingerprint(few, interactions="CationPi").run(stop=1)
    with pytest.raises(MismatchError, match="lower min_frequency"):
        without.plot_network()
    with pytest.raises(MismatchError, match="frame 5 was not analysed"):
        run.tanimoto(frame=5)


def test_element_without_a_radius_is_named(universe: MDAnalysis.Universe) -> None:
    copy = MDAnalysis.Merge(universe.select_atoms("resid 1:5"))
    elements = np.array(["H" if name[0] == "H" else name[0] for name in copy.atoms.names], object)
    elements[-1] = "Lr"
    copy.add_TopologyAttr("elements", elements)
    with pytest.raises(MismatchError, match=r"the element 'Lr' of atom .*'vdwradii': {'Lr': \.\.\.}"):
        InteractionFingerprint(copy)
    InteractionFingerprint(copy, parameters={"VdWContact": {"vdwradii": {"Lr": 2.0}}}).run()


def test_distance_beyond_half_the_cell_is_refused(universe: MDAnalysis.Universe) -> None:
    few = universe.select_atoms("resid 1:5")
    source = in_memory(universe.atoms.positions[None], np.array([[12, 60, 60, 90, 90, 90]], np.float32))
    with pytest.raises(MismatchError, match="more than half the shortest lattice vector"):
        InteractionFingerprint(few, trajectory=source).run()
    InteractionFingerprint(few, pbc=False, trajectory=source).run()


def test_results_are_the_same_for_all_executors(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    def run(**how: object) -> InteractionFingerprint:
        return InteractionFingerprint(universe, atom_indices=True).run(stop=12, **how)

    alone = run(backend="serial")
    for how in ({"n_workers": 2, "n_parts": 5}, {"backend": "processes", "n_workers": 2, "n_parts": 4}):
        other = run(**how)
        for name, array in alone.results.items():
            np.testing.assert_array_equal(other.results[name], array)
    copy = pickle.loads(pickle.dumps(alone))
    assert copy.occurrences_in(3) == alone.occurrences_in(3)
    assert alone.save(tmp_path / "f.csv").read_text().startswith("first_segment,first_resname,first_resid,second")


def test_figures_show_the_most_frequent_interactions(lid: InteractionFingerprint) -> None:
    figure = lid.plot()
    labels = [each.get_text() for each in figure.axes[0].get_yticklabels()]
    assert len(labels) == 40
    assert all(" – " in label for label in labels)
    network = lid.plot_network(0.9)
    assert len(network.axes[0].patches) == len(lid.edge_list(0.9))


def test_bit_vectors_of_rdkit_have_the_same_bits(lid: InteractionFingerprint) -> None:
    pytest.importorskip("rdkit", reason="rdkit is not installed")
    for bits, row in zip(lid.to_bitvectors("rdkit"), lid.to_bitvectors(), strict=True):
        assert list(bits.GetOnBits()) == np.flatnonzero(row).tolist()


def test_missing_rdkit_is_named_with_its_extra(
    universe: MDAnalysis.Universe, lid: InteractionFingerprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("rdkit", "rdkit.DataStructs"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UnsupportedError, match=r"bit vectors need RDKit: pip install 'mdreel\[rdkit\]'"):
        lid.to_bitvectors("rdkit")
    copy = MDAnalysis.Merge(universe.select_atoms("resid 1:5"))
    copy.residues[2].resname = "LIG"
    with pytest.raises(UnsupportedError, match=r"LIG 3.*pip install 'mdreel\[rdkit\]'"):
        InteractionFingerprint(copy)


def test_rdkit_perceives_unknown_residues_as_standard_ones(universe: MDAnalysis.Universe) -> None:
    pytest.importorskip("rdkit", reason="rdkit is not installed")
    copy = MDAnalysis.Merge(universe.select_atoms("resid 1:5"))
    copy.residues[2].resname = "LIG"
    names = ["Hydrophobic", "HBDonor", "HBAcceptor"]
    other, standard = InteractionFingerprint(copy, interactions=names), universe.select_atoms("resid 1:5")
    assert other._sites == InteractionFingerprint(standard, interactions=names)._sites


def test_interactions_run_beside_other_analyses(universe: MDAnalysis.Universe, lid: InteractionFingerprint) -> None:
    _, beside = mdreel.run([mdreel.RMSD(universe), InteractionFingerprint(*lid._groups)], step=20)
    np.testing.assert_array_equal(beside.results.counts, lid.results.counts)
