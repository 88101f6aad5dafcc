"""Tests of the RMSD of groups after a single superposition."""

from pathlib import Path
from typing import Any

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


LID, NMP = "name CA and resid 122:159", "name CA and resid 30:59"


def legend_of(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_names_of_groups_are_in_the_legend_the_table_and_the_labels() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    named = mdreel.RMSD(universe, select=CORE, groupselections={"LID": LID, "NMP domain": NMP}).run(step=20)
    plain = mdreel.RMSD(universe, select=CORE, groupselections=[LID, NMP]).run(step=20)
    np.testing.assert_array_equal(named.results.rmsd, plain.results.rmsd)
    assert legend_of(named.plot()) == ["superposed", "LID", "NMP domain"]
    assert [column.name for column in named.columns()][2:] == ["rmsd", "rmsd_lid", "rmsd_nmp_domain"]
    assert [column.name for column in plain.columns()][2:] == ["rmsd", "rmsd_group_1", "rmsd_group_2"]
    assert named._result_coordinates()[-1].values.tolist() == named.names == ["superposed", "LID", "NMP domain"]
    assert named.groupselections == [LID, NMP]


def test_wrong_named_groups_are_refused_with_their_name() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    for groups, error, message in (
        ({"LID": "name XY"}, SelectionError, r"groupselections\['LID'\]: selection 'name XY' has no atoms"),
        ({3: LID}, MismatchError, r"groupselections: the name of a group must be a text, not 3 \(int\)"),
        ({" ": LID}, MismatchError, "the name of a group must be a text"),
        ({"mobile": LID, "reference": LID}, SelectionError, "a list of selections, or a dictionary of selections by"),
    ):
        with pytest.raises(error, match=message):
            mdreel.RMSD(universe, select=CORE, groupselections=groups)


def test_other_analyses_of_groups_take_names() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    domains = {"LID": universe.select_atoms(LID), "NMP": universe.select_atoms(NMP)}
    groups = list(domains.values())
    ends, plain = mdreel.EndToEnd(domains).run(step=20), mdreel.EndToEnd(groups).run(step=20)
    np.testing.assert_array_equal(ends.results.distances, plain.results.distances)
    assert legend_of(ends.plot()) == ["LID", "NMP"]
    assert [column.name for column in ends.columns()][2:] == ["chain_lid", "chain_nmp"]
    helices = mdreel.HelixEigenvalues(domains).run(step=20)
    assert legend_of(helices.plot()) == ["LID", "NMP"]
    assert [column.name for column in helices.columns()][2:] == ["helix_lid", "helix_nmp"]
    pairs = mdreel.HelixEigenvalues({**domains, "both": groups[0] + groups[1]}, pairs=True).run(step=50)
    assert legend_of(pairs.plot()) == ["LID, NMP", "LID, both", "NMP, both"]
    residues = universe.residues[4:6]
    torsions = mdreel.Dihedral({"φ": residues[0].phi_selection(), "time": residues[1].psi_selection()}).run(step=20)
    assert torsions.names == ["φ", "time"]
    assert [column.name for column in torsions.columns()][2:] == ["dihedral_φ", "dihedral_time"]
    assert [text.get_text() for text in torsions.plot().axes[0].get_xticklabels()] == ["φ", "time"]
    with pytest.raises(SelectionError, match="chain 'NMP' has no atoms"):
        mdreel.EndToEnd({"LID": groups[0], "NMP": groups[1][:0]})
