"""Comparison of interaction fingerprints with those of ProLIF, on its example files."""

import warnings
from collections import Counter
from typing import Any

import MDAnalysis
import pytest

from mdreel.analysis import InteractionFingerprint
from mdreel.analysis.fingerprints.interactions import DEFINITIONS

prolif = pytest.importorskip("prolif", reason="prolif is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

Occurrences = Counter[tuple[int, str, tuple[int, ...], tuple[int, ...]]]


def of_prolif(universe: Any, first: Any, second: Any, names: list[str], n_frames: int) -> Occurrences:
    """Every occurrence that ProLIF finds: frame, interaction, and the atoms of both sites."""
    run = prolif.Fingerprint(names, count=True, vicinity_cutoff=9.0)
    run.run(universe.trajectory[:n_frames], first, second, progress=False, n_jobs=1)
    return Counter(
        (
            frame,
            name,
            *(tuple(group.ix[list(one["parent_indices"][side])].tolist()) for side, group in sides(first, second)),
        )
        for frame, found in run.ifp.items()
        for (residue, other), kinds in found.items()
        for name, listed in kinds.items()
        for one in listed
        if residue != other
    )


def sides(first: Any, second: Any) -> list[tuple[str, Any]]:
    return [("ligand", first), ("protein", second)]


def of_mdreel(first: Any, second: Any, names: list[str], n_frames: int) -> Occurrences:
    run = InteractionFingerprint(first, second, names, atom_indices=True, pbc=False).run(stop=n_frames)
    return Counter(
        (frame, one.interaction, one.atoms, one.other_atoms)
        for frame in range(n_frames)
        for one in run.occurrences_in(frame)
    )


def bridges_of_prolif(run: Any, first: Any, second: Any) -> Counter[Any]:
    """Every water bridge that ProLIF finds: frame, atoms of both sites, numbers of the waters from first to last."""
    return Counter(
        (
            frame,
            tuple(first.ix[list(one["parent_indices"]["ligand"])].tolist()),
            tuple(second.ix[list(one["parent_indices"]["protein"])].tolist()),
            tuple(water.number for water in one["water_residues"]),
        )
        for frame, found in run.ifp.items()
        for (residue, other), kinds in found.items()
        for one in kinds.get("WaterBridge", ())
        if residue != other
    )


def as_sets(found: Occurrences) -> Counter[tuple[int, str, frozenset[int], frozenset[int]]]:
    """The same with the atoms of sites in any order, as rings may begin with any atom."""
    return Counter((frame, name, frozenset(one), frozenset(other)) for frame, name, one, other in found.elements())


def differences(universe: Any, ours: Occurrences, theirs: Occurrences) -> dict[str, Counter[str]]:
    """For each interaction, how many occurrences both have, and which of them only one has."""
    mine, other = as_sets(ours), as_sets(theirs)
    found: dict[str, Counter[str]] = {name: Counter() for name in DEFINITIONS}
    for key in mine | other:
        found[key[1]]["both"] += min(mine[key], other[key])
        for which, rows, rest in (("only mdreel", mine, other), ("only ProLIF", other, mine)):
            if rows[key] > rest[key]:
                atoms = universe.atoms[[min(key[2]), min(key[3])]]
                named = " - ".join(f"{atom.resname}{atom.resid} {atom.name}" for atom in atoms)
                found[key[1]][f"{which}: {named}"] += 1
    return found


@pytest.fixture(scope="module")
def universe() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MDAnalysis.Universe(prolif.datafiles.TOP, prolif.datafiles.TRAJ)


def test_interactions_of_ligand_and_protein_are_those_of_prolif(universe: Any) -> None:
    first, second = universe.select_atoms("resname LIG"), universe.select_atoms("protein")
    names, n_frames = list(DEFINITIONS), 4
    theirs = of_prolif(universe, first, second, names, n_frames)
    found = differences(universe, of_mdreel(first, second, names, n_frames), theirs)
    assert {name: set(counts) - {"both"} for name, counts in found.items() if set(counts) - {"both"}} == {}
    assert sum(counts["both"] for counts in found.values()) > 200


def test_data_frame_is_that_of_prolif(universe: Any) -> None:
    first, second = universe.select_atoms("resname LIG"), universe.select_atoms("protein")
    theirs = prolif.Fingerprint(count=True)
    theirs.run(universe.trajectory[:3], first, second, progress=False, n_jobs=1)
    expected = theirs.to_dataframe()
    found = InteractionFingerprint(first, second, pbc=False).run(stop=3).to_dataframe(count=True)
    assert list(found.columns) == list(expected.columns)
    assert found.columns.names == expected.columns.names
    assert (found == expected).to_numpy().all()


def test_interactions_between_parts_of_the_protein_are_those_of_prolif(universe: Any) -> None:
    # With both ends of the disulfide bridge, because ProLIF converts each group alone.
    first = universe.select_atoms("protein and resid 119:152 199")
    second = universe.select_atoms("protein and not group one", one=first)
    names, n_frames = list(DEFINITIONS), 1
    theirs = of_prolif(universe, first, second, names, n_frames)
    found = differences(universe, of_mdreel(first, second, names, n_frames), theirs)
    assert {name: set(counts) - {"both"} for name, counts in found.items() if set(counts) - {"both"}} == {}
    assert sum(counts["both"] for counts in found.values()) > 100


@pytest.mark.parametrize("order", [1, 2, 3])
def test_water_bridges_are_those_of_prolif(order: int) -> None:
    solvated = MDAnalysis.Universe(prolif.datafiles.WATER_TOP, prolif.datafiles.WATER_TRAJ)
    first = solvated.select_atoms("resname QNB")
    second = solvated.select_atoms("protein and byres around 12 group one", one=first)
    water = solvated.select_atoms("resname TIP3 and byres around 8 group one", one=first)
    n_frames = 3
    theirs = prolif.Fingerprint(
        ["HBDonor", "WaterBridge"],
        parameters={"WaterBridge": {"water": water, "order": order, "count": True}},
        count=True,
    )
    theirs.run(solvated.trajectory[:n_frames], first, second, progress=False, n_jobs=1)
    ours = InteractionFingerprint(
        first,
        second,
        ["HBDonor", "WaterBridge"],
        {"WaterBridge": {"water": water, "order": order}},
        atom_indices=True,
        pbc=False,
    ).run(stop=n_frames)
    numbers = solvated.residues.resids
    found = Counter(
        (frame, one.atoms, one.other_atoms, tuple(numbers[list(one.waters)].tolist()))
        for frame in range(n_frames)
        for one in ours.occurrences_in(frame)
        if one.interaction == "WaterBridge"
    )
    expected = bridges_of_prolif(theirs, first, second)
    assert {len(key[3]) for key in expected} >= set(range(1, min(order, 2) + 1))  # there may be no longer ones
    assert found == expected
    table, wide = theirs.to_dataframe(count=True), ours.to_dataframe(count=True)
    without_chains = [
        [(one.split(".")[0], other.split(".")[0], name) for one, other, name in each.columns] for each in (wide, table)
    ]
    assert without_chains[0] == without_chains[1]  # ProLIF shows numbers of segments, which differ from the chains
    assert (wide.to_numpy() == table.to_numpy()).all()
