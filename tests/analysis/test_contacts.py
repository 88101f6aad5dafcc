"""Tests of contacts against MDAnalysis and a reference loop."""

import re
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import contacts as theirs
from MDAnalysis.lib.distances import distance_array
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

import mdreel
from every_analysis import analyses
from mdreel.analysis.base.two_groups import TwoGroupAnalysis
from mdreel.errors import MismatchError, SelectionError
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ACIDIC, BASIC = "(resname ASP GLU) and name OE* OD*", "(resname ARG LYS) and name NH* NZ"


@pytest.fixture(params=[(PSF, DCD), (TPR, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


@pytest.mark.parametrize("pbc", [None, False])
@pytest.mark.parametrize(
    ("method", "options", "bound"),
    [
        ("hard_cut", None, 0.0),
        ("radius_cut", None, 0.0),
        ("soft_cut", None, 1e-5),
        ("soft_cut", {"beta": 3.0, "lambda_constant": 1.5}, 1e-5),
    ],
)
def test_fractions_are_those_of_mdanalysis(
    universe: MDAnalysis.Universe, method: str, options: dict, bound: float, pbc: bool | None
) -> None:
    groups = universe.select_atoms(ACIDIC), universe.select_atoms(BASIC)
    others = MDAnalysis.Universe(universe.filename, universe.trajectory.filename)
    others.trajectory[2]
    later = others.select_atoms(ACIDIC), others.select_atoms(BASIC)
    for reference in (groups, [groups, later]):
        given = {"method": method, "radius": 7.0, "pbc": pbc, "kwargs": options}
        ours = mdreel.Contacts(universe, (ACIDIC, BASIC), reference, **given).run()
        universe.trajectory[0]
        expected = theirs.Contacts(universe, (ACIDIC, BASIC), reference, **given | {"pbc": pbc is None}).run()
        assert ours.n_initial_contacts == expected.n_initial_contacts > 20
        # One contact on the edge may be seen on the other side of it in single precision.
        edge = 0.0 if method == "soft_cut" else 1 / expected.n_initial_contacts
        difference = np.abs(ours.results.timeseries - expected.results.timeseries)
        assert difference.max() <= bound + edge
        assert np.median(difference) <= bound


def test_reference_may_be_a_frame(universe: MDAnalysis.Universe) -> None:
    groups = universe.select_atoms(ACIDIC), universe.select_atoms(BASIC)
    universe.trajectory[3]
    for pbc in (None, False):
        expected = mdreel.Contacts(universe, groups, groups, radius=6.0, pbc=pbc).run()
        found = mdreel.Contacts(universe, groups, 3, radius=6.0, pbc=pbc).run()
        np.testing.assert_array_equal(found.results.timeseries, expected.results.timeseries)
        assert found.results.timeseries[3, 1] == 1


def test_counts_are_those_of_all_pairs(universe: MDAnalysis.Universe) -> None:
    alpha, oxygens = universe.select_atoms("name CA"), universe.select_atoms("protein and name O CA")
    for pbc in (None, False):
        of_two = mdreel.Contacts(universe, (alpha, oxygens), method="count", radius=8.0, pbc=pbc).run()
        of_one = mdreel.Contacts(universe, (alpha, alpha), method="count", radius=8.0, pbc=pbc).run()
        for i, frame in enumerate(universe.trajectory):
            box = frame.dimensions if pbc is None else None
            near = distance_array(alpha.positions, oxygens.positions, box=box) <= 8.0
            # A pair of alpha carbons, which are in both groups, counts once.
            near &= ~np.isin(oxygens.ix, alpha.ix) | (alpha.ix[:, None] < oxygens.ix)
            assert abs(of_two.results.timeseries[i, 1] - near.sum()) <= 1
            near = distance_array(alpha.positions, alpha.positions, box=box) <= 8.0
            assert abs(of_one.results.timeseries[i, 1] - np.triu(near, 1).sum()) <= 1


SHARING = {
    "one group": ("name CA", "name CA"),
    "some atoms": ("name CA and resid 1:60", "name CA and resid 30:90"),
    "one in the other": ("name CA CB and resid 1:40", "name CB and resid 1:40"),
}


@pytest.mark.parametrize("method", ["hard_cut", "radius_cut", "soft_cut"])
@pytest.mark.parametrize("groups", SHARING.values(), ids=SHARING)
def test_contacts_of_groups_that_share_atoms_are_unique_pairs(method: str, groups: tuple[str, str]) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    first, second = (universe.select_atoms(group) for group in groups)
    start = universe.atoms.positions.astype(float)
    pairs = sorted({tuple(sorted((i, j))) for i in first.ix.tolist() for j in second.ix.tolist() if i != j})

    def distances(positions: np.ndarray) -> np.ndarray:
        return np.array([np.linalg.norm(positions[i] - positions[j]) for i, j in pairs])

    reference = distances(start)
    is_contact = reference <= 8.0
    for given in ((first, second), 0):
        found = mdreel.Contacts(universe, groups, given, method, 8.0).run(step=20)
        assert found.n_initial_contacts == is_contact.sum() > 20
        for frame, share in found.results.timeseries:
            r = distances(universe.trajectory[int(frame)].positions.astype(float))[is_contact]
            there = {
                "hard_cut": r <= reference[is_contact],
                "radius_cut": r <= 8.0,
                "soft_cut": 1 / (1 + np.exp(5.0 * (r - 1.8 * reference[is_contact]))),
            }[method]
            assert share == pytest.approx(there.mean(), abs=1e-9)
        universe.trajectory[0]


@pytest.mark.parametrize("method", ["hard_cut", "radius_cut", "soft_cut"])
@pytest.mark.parametrize("groups", SHARING.values(), ids=SHARING)
def test_contacts_of_all_pairs_are_those_of_mdanalysis(method: str, groups: tuple[str, str]) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    reference = tuple(universe.select_atoms(group) for group in groups)
    ours = mdreel.Contacts(universe, groups, reference, method, 8.0, pairs="all").run(step=20)
    expected = theirs.Contacts(universe, groups, reference, method, 8.0).run(step=20)
    assert ours.n_initial_contacts == expected.n_initial_contacts
    edge = 1e-5 if method == "soft_cut" else 1 / expected.n_initial_contacts
    np.testing.assert_allclose(ours.results.timeseries, expected.results.timeseries, rtol=0, atol=edge)
    unique = mdreel.Contacts(universe, groups, reference, method, 8.0).run(step=20)
    assert unique.n_initial_contacts < ours.n_initial_contacts
    assert abs(unique.results.timeseries[-1, 1] - ours.results.timeseries[-1, 1]) > 1e-5


@pytest.mark.parametrize("groups", SHARING.values(), ids=SHARING)
def test_number_of_contacts_is_that_of_unique_or_of_all_pairs(groups: tuple[str, str]) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    first, second = (universe.select_atoms(group) for group in groups)
    near = distance_array(first.positions.astype(float), second.positions.astype(float)) <= 8.0
    rows, columns = np.nonzero(near)
    unique = {frozenset((first.ix[i], second.ix[j])) for i, j in zip(rows, columns, strict=True)}
    for pairs, expected in (("unique", sum(len(pair) == 2 for pair in unique)), ("all", near.sum())):
        counted = mdreel.Contacts(universe, groups, method="count", radius=8.0, pairs=pairs).run(stop=1)
        assert counted.results.timeseries[0, 1] == expected
    with pytest.raises(MismatchError, match="pairs must be 'unique' or 'all'"):
        mdreel.Contacts(universe, groups, 0, pairs="both")


def test_atom_that_is_given_twice_makes_no_contact_twice() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    acidic, basic = universe.select_atoms(ACIDIC), universe.select_atoms(BASIC)
    for method in ("hard_cut", "count"):
        reference = None if method == "count" else 0
        once, twice = (
            mdreel.Contacts(universe, (group, basic), reference, method, 6.0).run(stop=3)
            for group in (acidic, acidic + acidic[:9])
        )
        np.testing.assert_array_equal(once.results.timeseries, twice.results.timeseries)


@pytest.mark.parametrize("kind", [kind for kind in analyses() if issubclass(kind, TwoGroupAnalysis)])
def test_analysis_of_two_groups_says_what_counts_when_they_share_atoms(kind: type[TwoGroupAnalysis]) -> None:
    """Fail for a new analysis of pairs that does not document this."""
    assert re.search(r"share\s+atoms", kind.__doc__ or "")


def test_contacts_are_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    topology = MDAnalysis.Universe(PSF)

    def bits(**options: object) -> bytes:
        source = open_trajectory(adk_xtc, index="none")
        soft = mdreel.Contacts(topology, (ACIDIC, BASIC), 0, "soft_cut", 8.0, trajectory=source).run(**options)
        count = mdreel.Contacts(topology, (ACIDIC, BASIC), method="count", trajectory=source).run(**options)
        return soft.results.timeseries.tobytes() + count.results.timeseries.tobytes()

    expected = bits(backend="serial")
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        assert bits(**options) == expected, options


def test_cells_that_must_be_there_are_missed(universe: MDAnalysis.Universe) -> None:
    groups = universe.select_atoms(ACIDIC), universe.select_atoms(BASIC)
    ways = ((groups, {}), (3, {}), (None, {"method": "count"}))
    for reference, options in ways:
        if universe.dimensions is None:
            with pytest.raises(MismatchError, match="no periodic cell: there are no shortest images"):
                mdreel.Contacts(universe, groups, reference, radius=6.0, pbc=True, **options).run()
        else:
            found = [
                mdreel.Contacts(universe, groups, reference, radius=6.0, pbc=pbc, **options) for pbc in (True, None)
            ]
            np.testing.assert_array_equal(*(one.run().results.timeseries for one in found))


def test_contacts_refuse_invalid_input(universe: MDAnalysis.Universe) -> None:
    groups = universe.select_atoms(ACIDIC), universe.select_atoms(BASIC)
    for arguments, options, message in (
        ((groups, groups, "own"), {}, "method must be"),
        ((groups,), {}, "needs a refgroup"),
        ((groups, groups, "count"), {}, "needs no refgroup"),
        ((groups, groups, "hard_cut"), {"kwargs": {"beta": 3.0}}, "has no parameter beta"),
        ((groups, groups), {"radius": 0.1}, "no contacts up to 0.1"),
        ((groups, groups), {"radius": -1.0}, "radius must be more than 0 Å"),
        ((groups, groups[::-1]), {}, "the groups have"),
        (((groups[0], MDAnalysis.Universe(PSF).atoms), 0), {}, "another Universe"),
    ):
        with pytest.raises(MismatchError, match=message):
            mdreel.Contacts(universe, *arguments, **options)
    with pytest.raises(MismatchError, match=r"no contacts up to 0.1"):
        mdreel.Contacts(universe, groups, 0, radius=0.1).run()
    for wrong, message in (("name XX", "no atoms"), ("nonsense", "nonsense")):
        with pytest.raises(SelectionError, match=message):
            mdreel.Contacts(universe, (wrong, BASIC), 0)


def test_plot_shows_the_fraction(universe: MDAnalysis.Universe) -> None:
    contacts = mdreel.Contacts(universe, (ACIDIC, BASIC), 0, radius=6.0).run()
    assert contacts.plot().axes[0].get_ylabel() == "Native contacts Q"
