"""Tests of water bridges in interaction fingerprints against chains of hydrogen bonds that a slow loop follows."""

from collections import defaultdict
from collections.abc import Iterator

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import TPR, XTC

import mdreel
from mdreel.analysis import InteractionFingerprint
from mdreel.errors import MismatchError, SelectionError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

Chain = tuple[int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Residues, waters, and atoms of both sites."""

Bonds = dict[int, list[tuple[int, tuple[int, ...], tuple[int, ...], float]]]
"""For each residue, the next residue, the atoms of both, and the distance."""


@pytest.fixture(scope="module")
def groups() -> list[MDAnalysis.AtomGroup]:
    """Two parts of a protein, and the waters near them."""
    universe = MDAnalysis.Universe(TPR, XTC)
    selections = ("protein and resid 1:60", "protein and resid 61:214", "resname SOL and around 5 protein")
    first, second, water = (universe.select_atoms(each) for each in selections)
    return [first, second, water.residues.atoms]


def bonds_between(one: MDAnalysis.AtomGroup, other: MDAnalysis.AtomGroup, frame: int, limits: dict) -> Bonds:
    run = InteractionFingerprint(one, other, ["HBDonor", "HBAcceptor"], limits, atom_indices=True)
    found: Bonds = defaultdict(list)
    for each in run.run(start=frame, stop=frame + 1).occurrences_in(0):
        found[each.residues[0]].append((each.residues[1], each.atoms, each.other_atoms, each.distance))
    return found


def chains(
    groups: list[MDAnalysis.AtomGroup], frame: int, orders: range, limits: dict
) -> Iterator[tuple[Chain, float]]:
    """Follow every chain of hydrogen bonds through waters."""
    first, second, water = groups
    starts, ends = bonds_between(first, water, frame, limits), bonds_between(water, second, frame, limits)
    between = bonds_between(water, water, frame, limits) if orders.stop > 2 else {}
    left = [
        (residue, (passed,), atoms, distance)
        for residue, bonds in starts.items()
        for passed, atoms, _, distance in bonds
    ]
    while left:
        residue, passed, atoms, distance = left.pop()
        for end, _, other_atoms, apart in ends.get(passed[-1], ()):
            if len(passed) in orders and end != residue:
                yield (residue, end, passed, atoms, other_atoms), distance + apart
        for following, _, _, apart in between.get(passed[-1], ()):
            if len(passed) < orders.stop - 1 and following not in passed:
                left.append((residue, (*passed, following), atoms, distance + apart))


@pytest.mark.parametrize(
    ("orders", "limits"),
    [
        (range(1, 2), {}),
        (range(1, 4), {}),
        (range(2, 4), {"HBDonor": {"distance": 3.2}, "HBAcceptor": {"DHA_angle": (140, 180)}}),
    ],
    ids=["one", "up to three", "two or three with other limits"],
)
def test_bridges_are_all_chains_of_hydrogen_bonds(
    groups: list[MDAnalysis.AtomGroup], orders: range, limits: dict
) -> None:
    given = {"water": groups[2], "order": orders.stop - 1, "min_order": orders.start}
    given |= {"hbdonor": limits.get("HBDonor"), "hbacceptor": limits.get("HBAcceptor")}
    run = InteractionFingerprint(*groups[:2], "WaterBridge", {"WaterBridge": given}, atom_indices=True).run(stop=2)
    for frame in range(2):
        expected = sorted(chains(groups, frame, orders, limits))
        found = sorted(
            ((*one.residues, one.waters, one.atoms, one.other_atoms), one.distance) for one in run.occurrences_in(frame)
        )
        assert [chain for chain, _ in found] == [chain for chain, _ in expected]
        np.testing.assert_allclose([each[1] for each in found], [each[1] for each in expected], atol=1e-4)
        assert {len(waters) for (_, _, waters, _, _), _ in found} == set(orders)
    assert int(run.results.n_waters.sum()) == len(run.results.waters)
    assert (run.results.n_waters >= orders.start).all()


def test_bridges_within_a_group_count_once(groups: list[MDAnalysis.AtomGroup]) -> None:
    first, second, water = groups
    both = {"WaterBridge": {"water": water, "order": 2}}
    whole = InteractionFingerprint(first + second, None, "WaterBridge", both).run(stop=1).results
    twice = InteractionFingerprint(first + second, first + second, "WaterBridge", both).run(stop=1).results
    assert (whole.pairs[:, 0] < whole.pairs[:, 1]).all()
    counts = dict(zip(map(tuple, twice.pairs.tolist()), twice.occurrences.tolist(), strict=True))
    assert {pair: counts[pair] for pair in counts if pair[0] < pair[1]} == dict(
        zip(map(tuple, whole.pairs.tolist()), whole.occurrences.tolist(), strict=True)
    )
    assert {pair[::-1]: n for pair, n in counts.items()} == counts
    assert len(whole.pairs) > 20


def test_other_interactions_stay_as_they_are(groups: list[MDAnalysis.AtomGroup]) -> None:
    first, second, water = groups
    alone = InteractionFingerprint(first, second, atom_indices=True).run(stop=2)
    names = [*dict.fromkeys(alone._names), "WaterBridge"]
    beside = InteractionFingerprint(first, second, names, {"WaterBridge": {"water": water}}, atom_indices=True)
    beside.run(stop=2)
    for frame in range(2):
        others = [one for one in beside.occurrences_in(frame) if one.interaction != "WaterBridge"]
        assert others == alone.occurrences_in(frame)
        assert all(one.waters == () for one in others)
    assert (beside.results.interactions == "WaterBridge").sum() > 10
    table = {column.name: column.values for column in beside.count_columns()}
    np.testing.assert_array_equal(table["interactions"], beside.results.counts)
    np.testing.assert_array_equal(sum(table[name] for name in names), beside.results.counts)


def test_bridges_are_the_same_for_all_executors(groups: list[MDAnalysis.AtomGroup]) -> None:
    def run(**how: object) -> dict[str, bytes]:
        given = {"WaterBridge": {"water": groups[2], "order": 2}}
        analysis = InteractionFingerprint(*groups[:2], ["HBDonor", "WaterBridge"], given, atom_indices=True)
        return {name: array.tobytes() for name, array in analysis.run(stop=6, **how).results.items()}

    alone = run(backend="serial")
    for how in ({"n_workers": 2, "n_parts": 5}, {"backend": "processes", "n_workers": 2, "n_parts": 3}):
        assert run(**how) == alone


def test_wrong_parameters_are_named(groups: list[MDAnalysis.AtomGroup]) -> None:
    first, second, water = groups

    def make(**given: object) -> InteractionFingerprint:
        return InteractionFingerprint(first, second, "WaterBridge", {"WaterBridge": given})

    for given, message in (
        ({}, r"needs the waters: give them with parameters=\{'WaterBridge': \{'water'"),
        ({"water": water, "order": 0}, "from 1 to 10, not 1 and 0"),
        ({"water": water, "order": 11}, "from 1 to 10, not 1 and 11"),
        ({"water": water, "order": 2, "min_order": 3}, "from 1 to 10, not 3 and 2"),
        ({"water": water, "order": 1.5}, "order of WaterBridge must be a whole number, not 1.5"),
        ({"water": water, "count": True}, "no parameter 'count': known are water, order"),
        ({"water": water, "hbdonor": {"angle": 3}}, "HBDonor has no parameter 'angle'"),
        ({"water": water, "hbdonor": 3.5}, "hbdonor of WaterBridge must map parameters to values"),
        ({"water": MDAnalysis.Universe(TPR).atoms[:3]}, "another Universe"),
    ):
        with pytest.raises(MismatchError, match=message):
            make(**given)
    with pytest.raises(SelectionError, match="water of WaterBridge"):
        make(water=water[:0])
    with pytest.raises(UnsupportedError, match="water of WaterBridge"):
        make(water=first.universe.select_atoms("resname SOL and around 3 protein", updating=True))
    assert "WaterBridge" not in InteractionFingerprint(first, second, "all")._names
    beside = mdreel.run([make(water=water), mdreel.Rg(first)], stop=1)
    assert beside[0].results.counts.shape == (1,)
