"""Tests of the RMSD of groups after a single superposition."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import rms
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

import mdreel
from mdreel.errors import MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
CORE = "name CA and (resid 1:29 or resid 60:121 or resid 160:214)"
GROUPS = ["backbone and resid 122:159", "protein and resid 30:59", "protein and name CA"]


@pytest.fixture(params=[(PSF, DCD), (GRO, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "mass"},
        {"weights": "mass", "weights_groupselections": ["mass", None, None]},
        {"ref_frame": 3},
        {"superposition": False},
    ],
    ids=["alike", "mass", "own-weights", "frame-3", "as-is"],
)
def test_groups_agree_with_mdanalysis(universe: MDAnalysis.Universe, options: dict[str, object]) -> None:
    protein = universe.select_atoms(CORE)
    ours = mdreel.RMSD(protein, groupselections=GROUPS, **options).run(step=3).results.rmsd
    theirs_options = {key: value for key, value in options.items() if key != "superposition"}
    if options.get("superposition", True):
        theirs = rms.RMSD(universe, select=CORE, groupselections=GROUPS, **theirs_options).run(step=3).results.rmsd
    else:
        universe.trajectory[0]
        groups = [protein, *map(universe.select_atoms, GROUPS)]
        references = [group.positions for group in groups]
        theirs = [
            [ts.frame, ts.time, *(rms.rmsd(g.positions, r) for g, r in zip(groups, references, strict=True))]
            for ts in universe.trajectory[::3]
        ]
    # The peer moves coordinates in single precision, and finds a frame up to 1e-6 Å from itself.
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)


def test_first_column_has_the_bits_of_the_rmsd_without_groups(adk_xtc: Path) -> None:
    core = MDAnalysis.Universe(PSF).select_atoms(CORE)
    alone = mdreel.RMSD(core, trajectory=adk_xtc).run().results.rmsd
    for options in ({"backend": "serial"}, {"n_parts": 9}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        found = mdreel.RMSD(core, groupselections=GROUPS, trajectory=adk_xtc).run(**options).results.rmsd
        np.testing.assert_array_equal(found[:, :3], alone)
        expected = mdreel.RMSD(core, groupselections=GROUPS, trajectory=adk_xtc).run(n_parts=1).results.rmsd
        assert found.tobytes() == expected.tobytes(), options


def test_groups_can_be_compared_with_another_universe(adk_xtc: Path) -> None:
    core = MDAnalysis.Universe(PSF, DCD).select_atoms(CORE)
    other = MDAnalysis.Universe(PSF, DCD)
    other.trajectory[5]
    found = mdreel.RMSD(core, other.select_atoms(CORE), ref_frame=7, groupselections=GROUPS).run().results.rmsd
    expected = mdreel.RMSD(core, ref_frame=7, groupselections=[core.universe.select_atoms(g) for g in GROUPS]).run()
    np.testing.assert_allclose(found, expected.results.rmsd, rtol=0, atol=1e-12)
    assert other.trajectory.frame == 5


def test_groupselections_refuse_invalid_input() -> None:
    universe, other = MDAnalysis.Universe(PSF, DCD), MDAnalysis.Universe(PSF, DCD)
    core = universe.select_atoms(CORE)
    for groups, error, message in (
        (["name XY"], SelectionError, r"groupselections\[0\]: selection 'name XY' has no atoms"),
        (["protein", "nmae CA"], SelectionError, r"groupselections\[1\]: selection 'nmae CA'"),
        ([7], SelectionError, "must be a string, a tuple of two"),
        ([other.atoms], SelectionError, "another Universe"),
    ):
        with pytest.raises(error, match=message):
            mdreel.RMSD(core, groupselections=groups)
    with pytest.raises(MismatchError, match="need a reference with all atoms"):
        mdreel.RMSD(core, core.positions, groupselections=["protein"])
    with pytest.raises(MismatchError, match="one entry for each of 1 groups, got 2"):
        mdreel.RMSD(core, groupselections=["protein"], weights_groupselections=[None, "mass"])
    with pytest.raises(MismatchError, match="in another Universe: give"):
        mdreel.RMSD(core, other.select_atoms(CORE), groupselections=[universe.atoms])


def test_plot_draws_a_line_for_each_group(universe: MDAnalysis.Universe) -> None:
    figure = mdreel.RMSD(universe.select_atoms(CORE), groupselections=GROUPS[:2]).run().plot()
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["superposed", *GROUPS[:2]]
