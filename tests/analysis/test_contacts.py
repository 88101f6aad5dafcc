"""Tests of contacts against MDAnalysis and a reference loop."""

import re
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import contacts as theirs
from MDAnalysis.lib.distances import distance_array
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

import mdreel
from every_analysis import analyses
from mdreel.analysis.base.two_groups import TwoGroupAnalysis
from mdreel.analysis.contact_fractions import hard_cut_q, radius_cut_q, soft_cut_q
from mdreel.errors import FunctionError, MismatchError, SelectionError, UnsupportedError
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
ACIDIC, BASIC = "(resname ASP GLU) and name OE* OD*", "(resname ARG LYS) and name NH* NZ"


@pytest.fixture(params=[(PSF, DCD), (TPR, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


@pytest.mark.parametrize("pbc", [True, False])
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
    universe: MDAnalysis.Universe, method: str, options: dict, bound: float, pbc: bool
) -> None:
    groups = universe.select_atoms(ACIDIC), universe.select_atoms(BASIC)
    others = MDAnalysis.Universe(universe.filename, universe.trajectory.filename)
    others.trajectory[2]
    later = others.select_atoms(ACIDIC), others.select_atoms(BASIC)
    for reference in (groups, [groups, later]):
        given = {"method": method, "radius": 7.0, "pbc": pbc, "kwargs": options}
        ours = mdreel.Contacts(universe, (ACIDIC, BASIC), reference, **given).run()
        universe.trajectory[0]
        expected = theirs.Contacts(universe, (ACIDIC, BASIC), reference, **given).run()
        assert ours.n_initial_contacts == expected.n_initial_contacts > 20
        # One contact on the edge may be seen on the other side of it in single precision.
        edge = 0.0 if method == "soft_cut" else 1 / expected.n_initial_contacts
        difference = np.abs(ours.results.timeseries - expected.results.timeseries)
        assert difference.max() <= bound + edge
        assert np.median(difference) <= bound


def test_reference_may_be_a_frame(universe: MDAnalysis.Universe) -> None:
    groups = universe.select_atoms(ACIDIC), universe.select_atoms(BASIC)
    universe.trajectory[3]
    for pbc in (True, False):
        expected = mdreel.Contacts(universe, groups, groups, radius=6.0, pbc=pbc).run()
        found = mdreel.Contacts(universe, groups, 3, radius=6.0, pbc=pbc).run()
        np.testing.assert_array_equal(found.results.timeseries, expected.results.timeseries)
        assert found.results.timeseries[3, 1] == 1


def test_counts_are_those_of_all_pairs(universe: MDAnalysis.Universe) -> None:
    alpha, oxygens = universe.select_atoms("name CA"), universe.select_atoms("protein and name O CA")
    for pbc in (True, False):
        of_two = mdreel.Contacts(universe, (alpha, oxygens), refgroup=None, method="count", radius=8.0, pbc=pbc).run()
        of_one = mdreel.Contacts(universe, (alpha, alpha), refgroup=None, method="count", radius=8.0, pbc=pbc).run()
        for i, frame in enumerate(universe.trajectory):
            box = frame.dimensions if pbc else None
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
        found = mdreel.Contacts(universe, groups, given, method, 8.0, pairs="unique").run(step=20)
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
    with pytest.warns(UserWarning, match=r"count twice.*Use pairs='unique'") as caught:
        usual = mdreel.Contacts(universe, groups, reference, method, 8.0).run(step=20)
    assert [warning.filename for warning in caught] == [__file__]
    np.testing.assert_array_equal(usual.results.timeseries, ours.results.timeseries)
    expected = theirs.Contacts(universe, groups, reference, method, 8.0).run(step=20)
    assert ours.n_initial_contacts == expected.n_initial_contacts
    edge = 1e-5 if method == "soft_cut" else 1 / expected.n_initial_contacts
    np.testing.assert_allclose(ours.results.timeseries, expected.results.timeseries, rtol=0, atol=edge)
    unique = mdreel.Contacts(universe, groups, reference, method, 8.0, pairs="unique").run(step=20)
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
        counted = mdreel.Contacts(universe, groups, refgroup=None, method="count", radius=8.0, pairs=pairs).run(stop=1)
        assert counted.results.timeseries[0, 1] == expected
    with pytest.raises(MismatchError, match="pairs must be 'unique' or 'all'"):
        mdreel.Contacts(universe, groups, 0, pairs="both")


def test_atom_that_is_given_twice_makes_no_contact_twice() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    acidic, basic = universe.select_atoms(ACIDIC), universe.select_atoms(BASIC)
    for method in ("hard_cut", "count"):
        reference = None if method == "count" else 0
        once, twice = (
            mdreel.Contacts(universe, (group, basic), reference, method, 6.0, pairs="unique").run(stop=3)
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
        count = mdreel.Contacts(topology, (ACIDIC, BASIC), refgroup=None, method="count", trajectory=source).run(
            **options
        )
        return soft.results.timeseries.tobytes() + count.results.timeseries.tobytes()

    expected = bits(backend="serial")
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        assert bits(**options) == expected, options


def test_cells_that_must_be_there_are_missed(universe: MDAnalysis.Universe) -> None:
    groups = universe.select_atoms(ACIDIC), universe.select_atoms(BASIC)
    ways = ((groups, {}), (3, {}), (None, {"method": "count"}), (groups, {"method": share_below}))
    for reference, options in ways:
        if universe.dimensions is None:
            with pytest.raises(MismatchError, match="no periodic cell: there are no shortest images"):
                mdreel.Contacts(universe, groups, reference, radius=6.0, require_cell=True, **options).run()
        else:
            found = [
                mdreel.Contacts(universe, groups, reference, radius=6.0, require_cell=required, **options)
                for required in (True, False)
            ]
            np.testing.assert_array_equal(*(one.run().results.timeseries for one in found))


def share_below(r: np.ndarray, r0: np.ndarray) -> float:
    """Return the share of distances that are at most those of the reference."""
    return float((r <= r0).mean())


def test_function_receives_the_distances_of_the_contacts(universe: MDAnalysis.Universe) -> None:
    groups = universe.select_atoms(ACIDIC), universe.select_atoms(BASIC)
    others = MDAnalysis.Universe(universe.filename, universe.trajectory.filename)
    others.trajectory[2]
    later = others.select_atoms(ACIDIC), others.select_atoms(BASIC)
    for pbc in (True, False):
        for reference in (groups, [groups, later], 3):
            expected = mdreel.Contacts(universe, groups, reference, radius=7.0, pbc=pbc).run()
            found = mdreel.Contacts(universe, groups, reference, share_below, 7.0, pbc).run(n_parts=4)
            np.testing.assert_array_equal(found.results.timeseries, expected.results.timeseries)
    soft, own = (
        mdreel.Contacts(universe, groups, groups, method, 7.0, kwargs={"beta": 3.0}).run()
        for method in ("soft_cut", theirs.soft_cut_q)
    )
    np.testing.assert_allclose(own.results.timeseries, soft.results.timeseries, rtol=1e-12)
    radius = mdreel.Contacts(universe, groups, groups, "radius_cut", 7.0, kwargs={"radius": 5.0}).run()
    universe.trajectory[0]
    of_theirs = theirs.Contacts(universe, groups, groups, "radius_cut", 7.0, kwargs={"radius": 5.0}).run()
    edge = 1 / radius.n_initial_contacts
    np.testing.assert_allclose(radius.results.timeseries, of_theirs.results.timeseries, rtol=0, atol=edge)


def test_function_gives_the_same_bits_for_all_executors(adk_xtc: Path) -> None:
    topology = MDAnalysis.Universe(PSF)

    def share(r: np.ndarray, r0: np.ndarray, longer: float) -> float:
        return float((r <= r0 + longer).mean())

    def bits(**options: object) -> bytes:
        source = open_trajectory(adk_xtc, index="none")
        own = mdreel.Contacts(topology, (ACIDIC, BASIC), 0, share, 8.0, kwargs={"longer": 0.5}, trajectory=source)
        return own.run(**options).results.timeseries.tobytes()

    expected = bits(backend="serial")
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        assert bits(**options) == expected, options


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda r, r0: "aaa", MismatchError, "returned str"),
        (lambda r, r0: None, MismatchError, "returned nothing"),
        (lambda r, r0: r, MismatchError, r"returned the shape \(\d+,\): expected one number"),
        (lambda r, r0: 1 / 0, FunctionError, "ZeroDivisionError.*test_contacts.py"),
    ],
    ids=["text", "nothing", "array", "error"],
)
def test_function_must_return_a_number(function: Any, kind: type[Exception], message: str) -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    groups = universe.select_atoms(ACIDIC), universe.select_atoms(BASIC)
    with pytest.raises(kind, match=message):
        mdreel.Contacts(universe, groups, groups, function, 7.0).run(stop=2)


def test_attributes_are_those_of_mdanalysis(universe: MDAnalysis.Universe) -> None:
    groups = universe.select_atoms(ACIDIC), universe.select_atoms(BASIC)
    for pbc in (True, False):
        ours, expected = (kind.Contacts(universe, (ACIDIC, BASIC), groups, pbc=pbc) for kind in (mdreel, theirs))
        assert (ours.grA, ours.grB, ours.pbc, ours.select) == (expected.grA, expected.grB, pbc, (ACIDIC, BASIC))
        np.testing.assert_array_equal(ours.initial_contacts, expected.initial_contacts)
        np.testing.assert_allclose(ours.r0, expected.r0, rtol=1e-5)
        is_contact, r0 = ours.initial_contacts[0], ours.r0[0]
        for method, options in (("hard_cut", {}), ("soft_cut", {"beta": 2.0}), ("radius_cut", {})):
            mine, other = (kind.Contacts(universe, groups, groups, method, kwargs=options) for kind in (mdreel, theirs))
            given = r0[is_contact] * 1.3, r0[is_contact]
            value = mine.fraction_contacts(*given, **mine.fraction_kwargs)
            assert value == pytest.approx(other.fraction_contacts(*given, **other.fraction_kwargs), abs=1e-12)


def test_fractions_of_extreme_distances_are_finite() -> None:
    distances = [-1e4, 0.0, 1e4]
    with np.errstate(over="ignore"):
        expected = theirs.soft_cut_q(distances, [0.0] * 3)
    assert soft_cut_q(distances, [0.0] * 3) == pytest.approx(expected, abs=1e-12)
    assert radius_cut_q([2.0, 0.5], None, 1.0) == theirs.radius_cut_q([2.0, 0.5], None, 1.0) == 0.5
    assert hard_cut_q([2.0, 3.0], [3.0, 2.5]) == theirs.hard_cut_q([2.0, 3.0], [3.0, 2.5]) == 0.5


def test_contacts_refuse_invalid_input(universe: MDAnalysis.Universe) -> None:
    groups = universe.select_atoms(ACIDIC), universe.select_atoms(BASIC)
    for arguments, options, message in (
        ((groups, groups, "own"), {}, "method must be"),
        ((groups, groups, 2), {}, "method must be"),
        ((groups, None), {}, "needs a refgroup"),
        ((groups, groups, "count"), {}, "needs no refgroup"),
        ((groups, groups, "hard_cut"), {"kwargs": {"beta": 3.0}}, "has no parameter beta"),
        ((groups, groups), {"pbc": None}, "pbc must be True or False"),
        ((groups, groups), {"radius": -1.0}, "radius must be more than 0 Å"),
        ((groups, groups[::-1]), {}, "the groups have"),
        (((groups[0], MDAnalysis.Universe(PSF).atoms), 0), {}, "another Universe"),
    ):
        with pytest.raises(MismatchError, match=message):
            mdreel.Contacts(universe, *arguments, **options)
    for reference in (0, groups):
        none = mdreel.Contacts(universe, groups, reference, radius=0.1)
        assert none.n_initial_contacts == 0
        with pytest.raises(MismatchError, match=r"no contacts up to 0.1"):
            none.run()
    for wrong, message in (("name XX", "no atoms"), ("nonsense", "nonsense")):
        with pytest.raises(SelectionError, match=message):
            mdreel.Contacts(universe, (wrong, BASIC), 0)


def test_group_without_atoms_has_no_contacts_and_no_fraction(universe: MDAnalysis.Universe) -> None:
    nothing = universe.select_atoms("name XX")
    for select in (("name XX", BASIC), (BASIC, "name XX")):
        refgroup = tuple(nothing if one == "name XX" else universe.select_atoms(one) for one in select)
        with pytest.warns(UserWarning, match="group has no atoms, so the reference has no contacts"):
            contacts = mdreel.Contacts(universe, select, refgroup)
        assert contacts.n_initial_contacts == 0
        assert contacts.initial_contacts[0].shape == tuple(map(len, refgroup))
        with pytest.raises(MismatchError, match="because a group has no atoms"):
            contacts.run()
        with pytest.raises(SelectionError, match="no atoms"):
            mdreel.Contacts(universe, select, None, "count")


def test_groups_of_another_kind_are_errors_of_the_type_of_mdanalysis(universe: MDAnalysis.Universe) -> None:
    updating = universe.select_atoms(ACIDIC, updating=True)
    for wrong, kind in ((3, SelectionError), (universe, SelectionError), (updating, UnsupportedError)):
        for expected in (TypeError, kind):
            with pytest.raises(expected, match="string or a static AtomGroup"):
                mdreel.Contacts(universe, (wrong, BASIC), 0)


def test_plot_shows_the_fraction(universe: MDAnalysis.Universe) -> None:
    contacts = mdreel.Contacts(universe, (ACIDIC, BASIC), 0, radius=6.0).run()
    assert contacts.plot().axes[0].get_ylabel() == "Native contacts Q"
