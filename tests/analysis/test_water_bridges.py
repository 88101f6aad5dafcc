"""Water bridges: the results of MDAnalysis, laws, and input that cannot give bridges."""

from collections.abc import Callable
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.hydrogenbonds import WaterBridgeAnalysis as Peer
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC, waterDCD, waterPSF

from mdreel.analysis import WaterBridgeAnalysis
from mdreel.errors import MdreelWarning, MismatchError, SelectionError, UnitWarning

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore:.*:UserWarning:MDAnalysis", "ignore::mdreel.errors.BrokenMoleculeWarning"
)
LID, CORE = "protein and resid 122:159", "protein and resid 1:121 160:214"
GROUPS = ("resid 5 7", "resid 8", "resid 15 21")  # of five waters


def small() -> MDAnalysis.Universe:
    """Five waters."""
    return MDAnalysis.Universe(waterPSF, waterDCD)


def solvated() -> MDAnalysis.Universe:
    """Adenylate kinase in water."""
    return MDAnalysis.Universe(GRO, XTC)


def rounded(network: Any, order: int) -> Any:
    """Return the chains of bonds that a network holds, in which the last digits of distances and angles do not count.

    MDAnalysis's networks may be cyclic, so only the walk that it makes itself shows what is in them.
    """
    chains = set()

    def follow(part: Any, chain: tuple[Any, ...]) -> None:
        if part is None:
            chains.add(chain)
        elif len(chain) <= order:
            for bond, following in part.items():
                key = (*bond[:4], round(float(bond[4]), 3), round(float(bond[5]), 1))
                follow(following, (*chain, key))

    follow(network, ())
    return chains


def same_as_mdanalysis(make: Callable[[Any], Any], **frames: Any) -> Any:
    """Compare all results with those of MDAnalysis, and return ours."""
    mine, other = make(WaterBridgeAnalysis).run(**frames), make(Peer).run(**frames)
    assert len(mine.results.network) == len(other.results.network) == mine.n_frames
    for own, theirs in zip(mine.results.network, other.results.network, strict=True):
        assert close(rounded(own, mine.order), rounded(theirs, mine.order))
    assert [n for _, n in mine.count_by_time()] == [n for _, n in other.count_by_time()]
    np.testing.assert_allclose([t for t, _ in mine.count_by_time()], [t for t, _ in other.count_by_time()], rtol=1e-5)
    assert in_order(mine.count_by_type()) == in_order(other.count_by_type())
    assert in_order([one[:8] for one in mine.timesteps_by_type()]) == in_order(
        [one[:8] for one in other.timesteps_by_type()]
    )
    for own, theirs in zip(mine.results.timeseries, other.results.timeseries, strict=True):
        # MDAnalysis leaves out bonds after the first bridge of a frame.
        assert {row[:4] for row in theirs} <= {row[:4] for row in own}
    return mine


def in_order(rows: list[Any]) -> list[Any]:
    return sorted(([*map(str, row[:8])], [round(float(one), 9) for one in row[8:]]) for row in rows)


def close(mine: set[Any], other: set[Any]) -> bool:
    """Return whether chains are the same, but for digits that were rounded to another side."""
    own, theirs = sorted(mine), sorted(other)
    return [[bond[:4] for bond in one] for one in own] == [[bond[:4] for bond in one] for one in theirs] and all(
        np.allclose([bond[4:] for bond in a], [bond[4:] for bond in b], atol=0.2)
        for a, b in zip(own, theirs, strict=True)
    )


@pytest.mark.parametrize("order", [0, 1, 2, 4])
@pytest.mark.parametrize("kind", ["hydrogen", "heavy"])
@pytest.mark.parametrize("role", ["both", "donor", "acceptor"])
def test_bridges_of_five_waters_are_those_of_mdanalysis(order: int, kind: str, role: str) -> None:
    limits = {"order": order, "distance": 5.0, "angle": 60.0, "distance_type": kind, "selection1_type": role}
    found = same_as_mdanalysis(lambda cls: cls(small(), *GROUPS, filter_first=False, **limits))
    assert found.results.counts.sum() > 0


@pytest.mark.parametrize(("order", "pbc"), [(1, True), (2, False), (3, True)])
def test_bridges_of_a_protein_in_water_are_those_of_mdanalysis(order: int, pbc: bool) -> None:
    found = same_as_mdanalysis(
        lambda cls: cls(solvated(), LID, CORE, order=order, pbc=pbc, update_selection=True), frames=[8]
    )
    assert found.results.counts.min() > (10 if order > 1 else 0)


def test_filtered_and_fixed_selections_are_those_of_mdanalysis() -> None:
    near = {"water_selection": "resname SOL and around 8 resid 122:159"}
    for options, frames in (
        ({}, [8]),
        ({"filter_first": False}, [8]),
        ({**near, "update_water_selection": False}, [0, 8]),
        ({**near, "distance_type": "heavy"}, [0, 8]),
    ):
        same_as_mdanalysis(
            lambda cls, options=options: cls(solvated(), LID, "resname ARG LYS", **options), frames=frames
        )


def test_selections_that_depend_on_positions_are_those_of_mdanalysis() -> None:
    groups = ("protein and around 6 resid 130:140", "protein and resid 130:140")
    water = "resname SOL and around 5 resid 130:140"
    found = same_as_mdanalysis(lambda cls: cls(solvated(), *groups, water, 2, update_selection=True), stop=9, step=4)
    assert found.results.counts.sum() > 0


def test_protein_with_itself_is_that_of_mdanalysis() -> None:
    found = same_as_mdanalysis(lambda cls: cls(solvated(), "resid 13:40", "resid 13:40", order=1), frames=[0, 9])
    assert found.selection1_type == "donor"
    assert found.results.counts.min() > 10


def test_names_of_donors_and_acceptors_are_those_of_mdanalysis() -> None:
    for name in ("DEFAULT_DONORS", "DEFAULT_ACCEPTORS"):
        own, theirs = getattr(WaterBridgeAnalysis, name), getattr(Peer, name)
        assert {key: set(names) for key, names in own.items()} == {key: set(names) for key, names in theirs.items()}
    assert all(Peer.r_cov[element] == length for element, length in WaterBridgeAnalysis.r_cov.items())
    options = {"donors": ["OH2", "XX"], "acceptors": ["OH2", "YY"], "forcefield": "GLYCAM06", "filter_first": False}
    made = WaterBridgeAnalysis(small(), *GROUPS, **options)
    assert {"XX", "NT"} <= set(made.donors)
    assert {"YY", "SM"} <= set(made.acceptors)


@pytest.mark.parametrize("output_format", ["sele1_sele2", "donor_acceptor"])
def test_tables_have_all_bonds_once(output_format: str) -> None:
    made = WaterBridgeAnalysis(small(), *GROUPS, order=2, distance=5.0, angle=60.0, output_format=output_format).run()
    table, found = made.generate_table(), made.results
    assert table.dtype.names[1].startswith(output_format.partition("_")[0])
    assert len(table) == len(found.bonds) == sum(map(len, found.timeseries))
    ends = np.sort(found.bonds[:, [0, 2]], axis=1)
    rows = np.sort(np.column_stack([table[name] for name in table.dtype.names[1:3]]), axis=1)
    np.testing.assert_array_equal(ends[np.lexsort(ends.T)], rows[np.lexsort(rows.T)])
    if output_format == "donor_acceptor":
        assert {name[0] for name in table.donor_atom} == {"H"}
    own = {row[:4] for row in found.timeseries[0]}
    peer = Peer(small(), *GROUPS, order=2, distance=5.0, angle=60.0, output_format=output_format).run(stop=1)
    assert {row[:4] for row in peer.results.timeseries[0]} <= own


def test_columns_count_as_count_by_type_does() -> None:
    made = WaterBridgeAnalysis(solvated(), LID, CORE, order=2).run(step=3)
    columns = {one.name: one.values for one in made.columns()}
    expected = {tuple(row[:2]): row[8] for row in made.count_by_type()}
    found = zip(
        columns["first_atom"].tolist(), columns["second_atom"].tolist(), columns["bridges_per_frame"], strict=True
    )
    assert {(first, second): share for first, second, share in found} == pytest.approx(expected)
    assert (columns["frequency"] <= np.minimum(1, columns["bridges_per_frame"])).all()
    assert set(columns["fewest_waters"].tolist()) <= {0, 1, 2}
    np.testing.assert_allclose(columns["bridges_per_frame"].sum() * made.n_frames, made.results.counts.sum())
    assert len(made.bond_columns()[0].values) == len(made.results.bonds)


def test_own_functions_count_bridges() -> None:
    made = WaterBridgeAnalysis(solvated(), LID, CORE, order=2).run(stop=2)

    def waters(
        chain: list[Any], output: dict[Any, int], universe: MDAnalysis.Universe, least: int = 0, **_: Any
    ) -> None:
        if len(chain) > least:
            output[len(chain) - 1] += 1
            assert universe.atoms[chain[0][0]].resname != "SOL"

    counts = dict(made.count_by_type(waters, least=1))
    assert set(counts) == {1, 2}
    assert sum(n for _, n in made.count_by_time(waters)) == made.results.counts.sum()

    def residues(chain: list[Any], output: dict[Any, list[float]], universe: MDAnalysis.Universe, time: float) -> None:
        output[universe.atoms[chain[0][0]].resid].append(time)

    assert len(made.timesteps_by_type(residues)) == made.results.counts.sum()


def test_counts_before_the_run_are_none() -> None:
    made = WaterBridgeAnalysis(small(), *GROUPS)
    assert made.count_by_type() is made.count_by_time() is made.timesteps_by_type() is None
    with pytest.warns(MdreelWarning, match="no water bridges yet"):
        assert made.generate_table() is None


def test_images_and_rigid_motion_change_nothing() -> None:
    universe = solvated()
    universe.trajectory[2]
    still = universe.atoms.positions.copy()

    def counts(positions: np.ndarray) -> tuple[np.ndarray, Any]:
        moved = MDAnalysis.Universe(GRO)
        moved.load_new(positions[None], dimensions=universe.dimensions)
        made = WaterBridgeAnalysis(moved, LID, CORE, order=2, pbc=True, filter_first=False).run()
        return made.results.bonds, made.results.counts

    bonds, n_bridges = counts(still)
    assert n_bridges[0] > 10
    vectors = universe.trajectory.ts.triclinic_dimensions
    shifts = np.random.default_rng(3).integers(-1, 2, (universe.residues.n_residues, 3)) @ vectors
    for positions in (still + np.array([3.0, -50.0, 7.0]), still + shifts[universe.atoms.resindices]):
        moved, n_moved = counts(positions.astype(np.float32))
        np.testing.assert_array_equal(n_moved, n_bridges)
        np.testing.assert_array_equal(moved, bonds)


def test_topology_without_positions_has_its_hydrogens_by_bonds() -> None:
    bare = MDAnalysis.Universe(waterPSF)
    options = {"order": 2, "distance": 5.0, "angle": 60.0}
    found = WaterBridgeAnalysis(bare, *GROUPS, trajectory=waterDCD, **options).run().results
    expected = WaterBridgeAnalysis(small(), *GROUPS, filter_first=False, **options).run().results
    np.testing.assert_array_equal(found.bonds, expected.bonds)
    assert len(found.bonds)
    with pytest.raises(MismatchError, match="update_selection=True"):
        WaterBridgeAnalysis(bare, "name O* and around 5 resid 5", "resid 8", trajectory=waterDCD)
    for attributes, message in (({}, "no names of atoms"), ({"names": ["OH2", "H1", "H2"]}, "has neither")):
        empty = MDAnalysis.Universe.empty(3, 1, atom_resindex=[0, 0, 0])
        for name, values in attributes.items():
            empty.add_TopologyAttr(name, values)
        with pytest.raises(SelectionError, match=message):
            WaterBridgeAnalysis(empty, "index 0", "index 1", "index 2", trajectory=waterDCD)


@pytest.mark.parametrize("backend", ["serial", "threads", "processes", "dask"])
def test_every_executor_gives_the_same_bits(backend: str) -> None:
    def run(**options: Any) -> Any:
        return WaterBridgeAnalysis(solvated(), LID, CORE, order=2).run(**options).results

    expected, found = (
        run(n_workers=1, n_parts=1),
        run(backend=backend, n_workers=None if backend == "serial" else 2, n_parts=7),
    )
    for name in ("counts", "starts", "offsets", "bonds", "distances", "angles", "pairs"):
        assert expected[name].tobytes() == found[name].tobytes(), name
    assert found.network == expected.network
    assert found.network[-1] == expected.network[9] != expected.network[0]
    assert found.network[2:4] == list(expected.network)[2:4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": -1}, "from 0 to 10 waters, not -1"),
        ({"order": 11}, "from 0 to 10 waters, not 11"),
        ({"selection1_type": "giver"}, "selection1_type must be"),
        ({"distance_type": "long"}, "distance_type must be"),
        ({"forcefield": "AMBER"}, "expected one of 'CHARMM27', 'GLYCAM06', 'other'"),
        ({"output_format": "table"}, "output_format must be"),
        ({"angle": 180.0}, "less than 180"),
        ({"angle": -1.0}, "at least 0 degrees"),
        ({"distance": 0.3}, "0.3 nm are 3 Å"),
        ({"distance": float("nan")}, "distance must be"),
    ],
)
def test_wrong_values_are_refused_with_a_remedy(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MismatchError, match=message):
        WaterBridgeAnalysis(small(), *GROUPS, **options)


def test_doubtful_values_warn() -> None:
    with pytest.warns(UnitWarning, match="nm"):
        WaterBridgeAnalysis(small(), *GROUPS, distance=0.9)
    with pytest.warns(UnitWarning, match="radians"):
        WaterBridgeAnalysis(small(), *GROUPS, angle=2.0)


@pytest.mark.parametrize(
    ("selections", "message"),
    [
        (("resid 99", "resid 7", "resid 8"), "selection1 'resid 99' has no atoms"),
        (("resid 5", "resid 99", "resid 8"), "selection2 'resid 99' has no atoms"),
        (("resid 5", "resid 7"), "water_selection 'resname SOL' has no atoms"),
        (("resid 5 and name H1", "resid 7", "resid 8"), "selection1 .* has no donors with hydrogens and no acceptors"),
    ],
)
def test_selections_without_donors_and_acceptors_warn_and_have_no_bridges(
    selections: tuple[str, ...], message: str
) -> None:
    with pytest.warns(MdreelWarning, match=message):
        made = WaterBridgeAnalysis(small(), *selections, filter_first=False)
    found = made.run(stop=3).results
    assert not made.has_candidates
    assert found.network == [{}, {}, {}]
    assert found.counts.tolist() == [0, 0, 0]
    assert len(made.columns()[0].values) == len(made.bond_columns()[0].values) == 0


def test_topology_without_hydrogens_warns() -> None:
    universe = MDAnalysis.Merge(MDAnalysis.Universe(PSF, DCD).select_atoms("not name H*"))
    with pytest.warns(MdreelWarning, match="no donors with hydrogens"):
        made = WaterBridgeAnalysis(universe, "resid 1:9", "resid 10:19", "resid 20:29")
    assert not made.has_candidates


def test_selections_that_are_far_apart_warn() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    with pytest.warns(MdreelWarning, match="within 9 Å in the current frame"):
        WaterBridgeAnalysis(universe, "resid 20 and name O", "resid 150 and name O", "resid 30")


def test_invalid_selections_and_atoms_are_refused() -> None:
    with pytest.raises(SelectionError, match="water_selection"):
        WaterBridgeAnalysis(small(), "resid 5", "resid 7", "resname and")
    with pytest.raises(SelectionError, match="Universe"):
        WaterBridgeAnalysis(small().atoms, *GROUPS)


def test_groups_that_overlap_each_other_and_the_water_are_allowed() -> None:
    limits = {"order": 2, "distance": 5.0, "angle": 60.0, "filter_first": False}
    made = WaterBridgeAnalysis(small(), "resid 5 7 8", "resid 7 8", "resid 5 15 21", **limits).run()
    same_as_mdanalysis(lambda cls: cls(small(), "resid 5 7 8", "resid 7 8", "resid 5 15 21", **limits))
    assert made.results.counts.sum() > 0
    with_water = WaterBridgeAnalysis(small(), "resid 5 7 8", "resid 7 8", "all", **limits).run()
    assert with_water.results.counts.sum() > 0


def test_plot_shows_the_number_of_bridges() -> None:
    made = WaterBridgeAnalysis(small(), *GROUPS, order=2, distance=5.0, angle=60.0).run()
    (line,) = made.plot().axes[0].lines
    np.testing.assert_array_equal(line.get_ydata(), made.results.counts)
