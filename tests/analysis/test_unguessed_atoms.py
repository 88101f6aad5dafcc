"""Warnings about donors and acceptors of hydrogen bonds that a guess by charge leaves out."""

import warnings

import MDAnalysis
import pytest

import mdreel
from mdreel.analysis.topology.unguessed_atoms import nitrogens_and_oxygens, possible_acceptors
from mdreel.errors import MdreelWarning

NAMES = ["N", "H", "CA", "C", "O", "ND1", "NA", "OW", "HW"]
ELEMENTS = ["N", "H", "C", "C", "O", "N", "Na", "O", "H"]
MASSES = [14.01, 1.008, 12.01, 12.01, 16.0, 14.01, 22.99, 16.0, 1.008]
BONDS = [(0, 1), (0, 2), (2, 3), (3, 4), (5, 2), (5, 3), (7, 8)]


def system(hydrogen: float, oxygen: float, nitrogen: float = -0.6, amide: float = -0.6) -> MDAnalysis.Universe:
    """An amino acid with some charges, a sodium ion, and water."""
    universe = MDAnalysis.Universe.empty(9, 3, atom_resindex=[0] * 6 + [1, 2, 2], trajectory=True)
    universe.add_TopologyAttr("names", NAMES)
    universe.add_TopologyAttr("masses", MASSES)
    universe.add_TopologyAttr("resnames", ["ALA", "SOD", "SOL"])
    universe.add_TopologyAttr("charges", [amide, hydrogen, 0.1, 0.5, oxygen, nitrogen, 1.0, -0.8, 0.4])
    universe.add_TopologyAttr("bonds", BONDS)
    return universe


def test_hydrogen_at_the_limit_is_warned_of_with_counts_and_remedy() -> None:
    text = r"leaves out 1 of 2 hydrogens bonded to N or O .* above 0.3 e \(ALA H has 0.3 e\).*hydrogens_sel=\"name H\*"
    with pytest.warns(MdreelWarning, match=text):
        mdreel.HydrogenBondAnalysis(system(0.3, -0.6))


@pytest.mark.parametrize(("oxygen", "nitrogen", "n_missing"), [(-0.5, -0.6, 1), (-0.6, -0.4, 1), (-0.4, -0.4, 2)])
def test_acceptors_at_the_limit_are_warned_of(oxygen: float, nitrogen: float, n_missing: int) -> None:
    text = rf"leaves out {n_missing} of 3 possible acceptors .* below -0.5 e .*acceptors_sel=\"name O\*"
    with pytest.warns(MdreelWarning, match=text):
        mdreel.HydrogenBondAnalysis(system(0.4, oxygen, nitrogen))


def test_donor_at_the_limit_is_warned_of() -> None:
    analysis = mdreel.HydrogenBondAnalysis(system(0.4, -0.6, amide=-0.5))
    with pytest.warns(MdreelWarning, match="leaves out 1 of 2 N and O atoms with hydrogens .*donors_sel"):
        analysis.guess_donors()


def test_guess_of_all_atoms_does_not_warn_nor_do_given_selections() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", MdreelWarning)
        complete = mdreel.HydrogenBondAnalysis(system(0.4, -0.6))
        complete.guess_donors()
        mdreel.HydrogenBondAnalysis(system(0.2, -0.2), hydrogens_sel="name H HW", acceptors_sel="name O")
        complete.guess_hydrogens("resname SOL", min_charge=0.39)


def test_atoms_outside_the_groups_do_not_matter() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", MdreelWarning)
        mdreel.HydrogenBondAnalysis(system(0.2, -0.2), between=("resname SOL", "resname SOL"))


def test_names_that_are_guessed_elsewhere_are_not_missing() -> None:
    universe = MDAnalysis.Merge(system(0.4, -0.6).atoms, system(0.2, -0.6).atoms)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MdreelWarning)
        mdreel.HydrogenBondAnalysis(universe)


def test_elements_are_those_of_the_topology_or_of_names_and_masses() -> None:
    universe = system(0.4, -0.6)
    assert nitrogens_and_oxygens(universe, "N").tolist() == [0, 5]
    assert possible_acceptors(universe).ix.tolist() == [4, 5, 7]
    universe.add_TopologyAttr("elements", ELEMENTS)
    universe.atoms.names = "X"
    assert nitrogens_and_oxygens(universe, "N").tolist() == [0, 5]
    assert nitrogens_and_oxygens(universe, "NO").tolist() == [0, 4, 5, 7]


def test_guess_for_a_force_field_of_amber_is_warned_of() -> None:
    from MDAnalysisTests.datafiles import PRM, TRJ_bz2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = MDAnalysis.Universe(PRM, TRJ_bz2)
    with pytest.warns(MdreelWarning, match="leaves out 16 of 31 hydrogens"):
        mdreel.HydrogenBondAnalysis(universe)
