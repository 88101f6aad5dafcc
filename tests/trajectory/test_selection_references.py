"""Warnings about selections that refer to atoms outside the group that they apply to."""

import inspect
import warnings

import MDAnalysis
import numpy as np
import pytest

import mdreel
from mdreel.errors import MdreelWarning
from mdreel.trajectory.selection_references import REFERRING
from mdreel.trajectory.selection_tree import frame_selection, parsed_selection

TEXT = "atoms that it refers to are outside the group"


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    """Two residues of two atoms each, then two ions; all on a line, 1 Å apart."""
    universe = MDAnalysis.Universe.empty(6, 4, atom_resindex=[0, 0, 1, 1, 2, 3], trajectory=True)
    universe.add_TopologyAttr("names", ["A", "B", "A", "B", "ION", "ION"])
    universe.add_TopologyAttr("bonds", [(0, 1), (2, 3), (3, 4)])
    universe.atoms.positions = np.arange(6, dtype=np.float32)[:, None] * [1, 0, 0]
    return universe


@pytest.mark.parametrize(
    "words",
    [
        "around 2 name ION",
        "sphzone 2 name ION",
        "sphlayer 1 2 name ION",
        "isolayer 1 2 name ION",
        "cyzone 2 1 -1 name ION",
        "cylayer 1 2 1 -1 name ION",
        "name B and around 2 name ION",
        "not around 2 (name ION and prop x > 0)",
        "byres around 2 name ION",
        "bonded (name ION and prop x > 0)",
        "same residue as (name ION and prop x > 0)",
        "byres (name ION and prop x > 0)",
    ],
)
def test_reference_outside_the_group_is_warned_of(universe: MDAnalysis.Universe, words: str) -> None:
    group = universe.select_atoms("name A B")
    changing = universe.select_atoms("name A B and prop x < 9", updating=True)
    with pytest.warns(MdreelWarning, match=f"all 2 {TEXT}.*global"):
        parsed_selection(group, words)
    with pytest.warns(MdreelWarning, match=f"all 2 {TEXT}"):
        frame_selection(group.select_atoms(words, updating=True))
    with pytest.warns(MdreelWarning, match=f"all 2 {TEXT}"):
        frame_selection(changing.select_atoms(words, updating=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error", MdreelWarning)
        parsed_selection(universe.atoms, words)
        parsed_selection(group, words.replace("name ION", "global name ION"))


def test_every_relation_between_atoms_of_mdanalysis_is_known() -> None:
    from MDAnalysis.core import selection

    with_operand = {
        name
        for name, kind in vars(selection).items()
        if isinstance(kind, type) and "self.sel = " in _source(kind) and not name.startswith("_")
    }
    assert with_operand - {"Selection", "UnarySelection", "NotSelection", "GlobalSelection"} <= REFERRING


def _source(kind: type) -> str:
    return "".join(inspect.getsource(one) for one in kind.__mro__ if one.__module__ == kind.__module__)


def test_part_of_a_reference_outside_the_group_is_counted(universe: MDAnalysis.Universe) -> None:
    with pytest.warns(MdreelWarning, match=f"2 of the 4 {TEXT}"):
        mdreel.Selection(universe.select_atoms("name A ION"), "around 2 name A B")


def test_selection_without_references_does_not_warn(universe: MDAnalysis.Universe) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", MdreelWarning)
        mdreel.Selection(universe.select_atoms("name A"), "name A B and prop x > 0")
        mdreel.Selection(universe.select_atoms("name A"), "around 2 name A")
