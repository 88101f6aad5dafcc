"""Contacts: MDAnalysis's Q, counts of an obvious loop, the same bits however it is run, and clear errors."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import contacts as theirs
from MDAnalysis.lib.distances import distance_array
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

import mdreel
from mdreel.errors import MismatchError, SelectionError
from mdreel.sources.open import open_source

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
            near &= alpha.ix[:, None] != oxygens.ix
            assert abs(of_two.results.timeseries[i, 1] - near.sum()) <= 1
            near = distance_array(alpha.positions, alpha.positions, box=box) <= 8.0
            assert abs(of_one.results.timeseries[i, 1] - np.triu(near, 1).sum()) <= 1


def test_contacts_have_the_same_bits_however_they_are_run(adk_xtc: Path) -> None:
    topology = MDAnalysis.Universe(PSF)

    def bits(**options: object) -> bytes:
        source = open_source(adk_xtc, index="none")
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
            with pytest.raises(MismatchError, match="has no periodic cell: there are no shortest images"):
                mdreel.Contacts(universe, groups, reference, radius=6.0, pbc=True, **options).run()
        else:
            found = [
                mdreel.Contacts(universe, groups, reference, radius=6.0, pbc=pbc, **options) for pbc in (True, None)
            ]
            np.testing.assert_array_equal(*(one.run().results.timeseries for one in found))


def test_what_has_no_contacts_is_refused(universe: MDAnalysis.Universe) -> None:
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
