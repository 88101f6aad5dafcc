"""Tests of unique residue labels in all analyses and tables."""

from pathlib import Path
from typing import Any, get_args

import matplotlib.pyplot as plt
import MDAnalysis
import numpy as np
import pytest

import mdreel
from every_analysis import CASES
from homodimer import N_RESIDUES, dimer_system, homodimer
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.choices import AreaMode
from mdreel.analysis.topology.residue_labels import ResidueLabels
from mdreel.cli.analyses.recipe import analysis_commands
from mdreel.cli.analyses.request import Request
from mdreel.cli.errors import CommandError

ANALYSES = analysis_commands()

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

NOT_OF_A_DIMER = {
    "Dihedral": "its groups are the user's",
    "HelixEigenvalues": "its segments are the user's",
    "InterRDF_s": "its pairs are the user's",
    "Projection": "its directions are those of the peptide",
}
"""Analyses with a test case made from the atoms of one peptide."""

CLI_OPTIONS: dict[str, list[dict[str, Any]]] = {
    "rmsd": [{}],
    "rmsf": [{}],
    "compare": [{}, {"residues": True}, {"score": "tm-score"}, {"score": "native-contacts"}],
    "rmsd2d": [{}],
    "cluster-frames": [
        {},
        {"method": "average"},
        {"method": "dbscan"},
        {"method": "k-means", "n_clusters": 2},
        {"method": "online"},
    ],
    "average": [{}],
    "pca": [{}, {"components": 2}],
    "cross-correlation": [{}, {"min_correlation": 0.5}],
    "rg": [{}],
    "dihedrals": [{}, {"features": "cos_sin"}],
    "distances": [{}],
    "end-to-end": [{}],
    "helices": [{"segments": ["1:6", "7:14"]}],
    "dssp": [{}],
    "sasa": [{"mode": mode, "points": 50} for mode in get_args(AreaMode)],
    "rdf": [{}],
    "contacts": [{}],
    "residue-contacts": [{}, {"list_contacts": True}],
    "fingerprint": [{}, {"list_entries": True}],
    "hbonds": [{}],
    "water-bridges": [
        {"other": "resid 8:14", "water": "resid 1:7", "list_bonds": is_list} for is_list in (False, True)
    ],
    "density": [{}],
    "linear-density": [{}],
    "msd": [{}],
    "projection": [{}],
    "ramachandran": [{}],
    "janin": [{}],
    "dihedral": [{"atoms": [f"index {i}" for i in (4, 6, 8, 19)]}],
    "site-rdf": [{}],
    "water-relaxation": [],  # a dimer in vacuum
    "survival": [{"dynamic": "name N and around 5 resid 5", "tau_max": 3}],
    "select": [
        {"dynamic": "name N and around 5 resid 5"},
        {"dynamic": "name N and around 5 resid 5", "list_atoms": True},
    ],
}
"""Options of the command of each analysis, once for each set of table columns."""

SELECTIONS = {"helices": "segid A and name CA", "rdf": "name CA CB"}


def cases() -> list[str]:
    return [name for name in CASES if name.partition(",")[0] not in NOT_OF_A_DIMER]


@pytest.mark.parametrize("name", cases())
def test_analysis_of_a_homodimer_tells_its_residues_apart(name: str) -> None:
    """Fail for a new analysis with values for each residue but no residue labels."""
    analysis = CASES[name].make(dimer_system()).run()
    axes = {size for value in analysis.results.values() for size in np.shape(value)}
    has_residues = N_RESIDUES in axes
    if has_residues and len(analysis.atomgroup) != N_RESIDUES:  # else these are values of atoms, which have indices
        assert hasattr(analysis, "residue_labels"), "there is a value of each residue, and no residue_labels"
    for labels in ("residue_labels", "names"):
        found = getattr(analysis, labels, ())
        assert len(set(found)) == len(found), f"{labels} repeat"
    assert_labels_are_unique(analysis)


def assert_labels_are_unique(analysis: Analysis) -> None:
    """Fail if a figure has two ticks or two legend entries with the same text."""
    try:
        figure = analysis.plot().figure  # some return axes, as in MDAnalysis
    except mdreel.errors.UnsupportedError:
        return
    figure.canvas.draw()
    for axes in figure.axes:
        ticks = [text.get_text() for text in (*axes.get_yticklabels(),) if text.get_text() and text.get_visible()]
        legend = axes.get_legend()
        entries = [] if legend is None else [text.get_text() for text in legend.get_texts()]
        for texts in (ticks, entries):
            assert len(set(texts)) == len(texts), texts
    plt.close(figure)


def test_labels_of_residues_are_one_for_each() -> None:
    system = dimer_system()
    for analysis, n_residues in (
        (mdreel.DSSP(system.universe, trajectory=system.trajectory), 28),
        (mdreel.SASA(system.universe.atoms, mode="residue", trajectory=system.trajectory), 28),
        (mdreel.Ramachandran(system.universe.select_atoms("not resid 1 14"), trajectory=system.trajectory), 24),
    ):
        labels = analysis.residue_labels
        assert (len(labels), len(set(labels))) == (n_residues, n_residues)
        assert {"A ILE 3", "B ILE 3"} <= set(labels)


def test_dihedrals_of_a_homodimer_have_the_segment_in_their_names() -> None:
    names = mdreel.Dihedrals(homodimer(("P", "P")).atoms).names
    assert len(set(names)) == len(names) == 52
    assert "psi A ILE 3" in mdreel.Dihedrals(homodimer().atoms).names


def test_every_command_of_an_analysis_is_listed() -> None:
    assert CLI_OPTIONS.keys() == ANALYSES.keys()


@pytest.mark.parametrize(("name", "options"), [(name, one) for name, several in CLI_OPTIONS.items() for one in several])
def test_table_of_a_homodimer_tells_its_residues_apart(name: str, options: dict[str, Any]) -> None:
    """Fail for a new command whose table has the same row or column labels for two residues."""
    system, command = dimer_system(), ANALYSES[name]
    atoms = system.universe.select_atoms(SELECTIONS.get(name, command.selection))
    request = Request(Path("dimer.psf"), (Path("dimer.xtc"),), command.selection)
    values = {parameter.name: parameter.default for parameter in command.own} | options
    spec = command.specify(request, **values)
    columns = spec.tabulate(spec.prepare(atoms, system.trajectory).run()).columns
    names = [column.name for column in columns]
    assert len(set(names)) == len(names)
    of_residue = [column.values.tolist() for column in columns if column.name in ("segment", "resname", "resid")]
    assert bool(of_residue) == any(one.startswith(("resid", "resname", "residue")) for one in names)
    if of_residue:
        assert names[names.index("resid") - 2 :][:3] == ["segment", "resname", "resid"]
        assert len(set(zip(*of_residue, strict=True))) == N_RESIDUES
    if any(len(column.values) == N_RESIDUES for column in columns):
        assert of_residue, "there is a row for each residue, and nothing says which"


def labels_of(**attributes: Any) -> ResidueLabels:
    """Return the labels of two residues ALA 5 in one segment, with further attributes."""
    universe = MDAnalysis.Universe.empty(4, 2, atom_resindex=[0, 0, 1, 1], residue_segindex=[0, 0])
    for name, values in ({"resnames": ["ALA", "ALA"], "resids": [5, 5], "segids": ["S"]} | attributes).items():
        universe.add_TopologyAttr(name, values)
    return ResidueLabels.of(universe.residues)


@pytest.mark.parametrize(
    ("attributes", "texts", "columns"),
    [
        ({"resids": [5, 6]}, ["ALA 5", "ALA 6"], ["segment", "resname", "resid"]),
        ({"icodes": ["", "A"]}, ["ALA 5", "ALA 5A"], ["segment", "resname", "resid", "icode"]),
        ({"chainIDs": ["K", "K", "L", "L"]}, ["K ALA 5", "L ALA 5"], ["segment", "resname", "resid"]),
        ({}, ["ALA 5 #0", "ALA 5 #1"], ["segment", "resname", "resid", "resindex"]),
    ],
    ids=["numbers", "insertion codes", "chains", "indices"],
)
def test_labels_are_unique_by_whatever_tells_residues_apart(
    attributes: dict[str, Any], texts: list[str], columns: list[str]
) -> None:
    labels = labels_of(**attributes)
    assert labels.texts == texts
    assert [column.name for column in labels.columns()] == columns
    rows = list(zip(*(column.values.tolist() for column in labels.columns()), strict=True))
    assert len(set(rows)) == 2


def test_residues_are_counted_on_an_axis_where_numbers_repeat() -> None:
    for labels in (labels_of(), ResidueLabels.of(homodimer().residues)):
        assert labels.axis == "Residue, counted"
        np.testing.assert_array_equal(labels.positions, np.arange(1, len(labels.indices) + 1))
    one = ResidueLabels.of(homodimer().atoms[:30])
    assert one.axis == "Residue"
    np.testing.assert_array_equal(one.positions, one.resids)


def test_helix_of_both_halves_of_a_homodimer_is_refused() -> None:
    system = dimer_system()
    request = Request(Path("dimer.psf"), (Path("dimer.xtc"),), "name CA")
    spec = ANALYSES["helices"].specify(request, segments=["1:6"])
    with pytest.raises(CommandError, match=r"--segment 1:6: .* 2 segments \(A, B\): .*--select 'segid A'"):
        spec.prepare(system.universe.select_atoms("name CA"), system.trajectory)
