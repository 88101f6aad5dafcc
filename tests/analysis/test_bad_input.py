"""Tests of all analyses with invalid and minimal input.

Errors of a single analysis are tested in the file of that analysis.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from analysis_case import everything
from comparable_results import arrays_in
from every_analysis import CASES
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.projection import Projection
from mdreel.errors import FunctionError, MismatchError, SelectionError, UnsupportedError
from peptide_system import System, in_memory, peptide, peptide_positions
from users_code import Spread, spread

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::RuntimeWarning")
N_FRAMES = 6
OWN_CODE = ("AnalysisBase", "FunctionAnalysis", "FunctionAnalysis, two groups")
CLASSES = {name.partition(",")[0] for name in CASES}
Made = Callable[[MDAnalysis.AtomGroup, Any], Analysis]


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("name", CASES)
def test_error_names_the_frame_with_nonfinite_coordinates(name: str, wrong: float) -> None:
    positions = peptide_positions()[:N_FRAMES].copy()
    positions[3] = wrong
    analysis = CASES[name].make(System(peptide(), in_memory(positions)))
    if name in OWN_CODE:  # sees what is in the file
        (values,) = everything(analysis.run())
        np.testing.assert_array_equal(np.isfinite(values), np.arange(N_FRAMES) != 3)
        return
    with pytest.raises((MismatchError, FunctionError), match="frame 3"):
        analysis.run()


NONE: dict[str, Made] = {
    "AnalysisBase": lambda none, _: Spread(none),
    "AverageStructure": lambda none, _: mdreel.AverageStructure(none),
    "Contacts": lambda none, u: mdreel.Contacts(u, (none, "name CA"), 0),
    "DSSP": lambda none, _: mdreel.DSSP(none),
    "DensityAnalysis": lambda none, _: mdreel.DensityAnalysis(none),
    "Dihedral": lambda none, _: mdreel.Dihedral([none][:0]),
    "Dihedrals": lambda none, _: mdreel.Dihedrals(none),
    "DistanceArray": lambda none, _: mdreel.DistanceArray(none),
    "DistanceMatrix": lambda none, _: mdreel.DistanceMatrix(none),
    "GromosClustering": lambda none, _: mdreel.analysis.GromosClustering(none),
    "DensityClustering": lambda none, _: mdreel.analysis.DensityClustering(none),
    "OnlineClustering": lambda none, _: mdreel.analysis.OnlineClustering(none),
    "HierarchicalClustering": lambda none, _: mdreel.analysis.HierarchicalClustering(none, cutoff=1.0),
    "KMeansClustering": lambda none, _: mdreel.analysis.KMeansClustering(none, n_clusters=1),
    "KMedoidsClustering": lambda none, _: mdreel.analysis.KMedoidsClustering(none, n_clusters=1),
    "LDDT": lambda none, _: mdreel.analysis.LDDT(none),
    "NativeContacts": lambda none, _: mdreel.analysis.NativeContacts(none),
    "ResidueRMSD": lambda none, _: mdreel.analysis.ResidueRMSD(none),
    "SymmetricRMSD": lambda none, _: mdreel.analysis.SymmetricRMSD(none),
    "TMScore": lambda none, _: mdreel.analysis.TMScore(none),
    "CrossCorrelation": lambda none, _: mdreel.analysis.CrossCorrelation(none),
    "InteractionFingerprint": lambda none, _: mdreel.analysis.InteractionFingerprint(none),
    "EinsteinMSD": lambda none, _: mdreel.EinsteinMSD(none),
    "EndToEnd": lambda none, _: mdreel.EndToEnd([none]),
    "FunctionAnalysis": lambda none, _: mdreel.from_function(spread, none),
    "HelixEigenvalues": lambda none, _: mdreel.HelixEigenvalues([none]),
    "HydrogenBondAnalysis": lambda _, u: mdreel.HydrogenBondAnalysis(u, hydrogens_sel="name NONE and"),
    "WaterBridgeAnalysis": lambda _, u: mdreel.analysis.WaterBridgeAnalysis(u, "name NONE and"),
    "InterRDF": lambda none, u: mdreel.InterRDF(u.atoms, none),
    "InterRDF_s": lambda none, u: mdreel.InterRDF_s(u, [(none, u.atoms)]),
    "LinearDensity": lambda none, _: mdreel.LinearDensity(none),
    "PCA": lambda none, _: mdreel.PCA(none),
    "Projection": lambda none, _: Projection(none, np.zeros((0, 3)), np.zeros((1, 0, 3))),
    "RMSD": lambda none, _: mdreel.RMSD(none),
    "RMSF": lambda none, _: mdreel.RMSF(none),
    "Janin": lambda none, _: mdreel.Janin(none),
    "Ramachandran": lambda none, _: mdreel.Ramachandran(none),
    "ResidueContacts": lambda none, _: mdreel.ResidueContacts(none),
    "Rg": lambda none, _: mdreel.Rg(none),
    "SASA": lambda none, _: mdreel.SASA(none),
    "SurvivalProbability": lambda none, _: mdreel.analysis.SurvivalProbability(none, "around 3 all"),
    "WaterOrientationalRelaxation": lambda none, _: mdreel.analysis.WaterOrientationalRelaxation(none, "around 3 all"),
    "Selection": lambda none, _: mdreel.Selection(none, "around 3 all"),
}


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_no_atoms_are_refused(name: str) -> None:
    universe = peptide()
    with pytest.raises(SelectionError) as caught:
        NONE[name](universe.atoms[:0], universe)
    if "has no atoms" in str(caught.value):
        special = {"FunctionAnalysis": mdreel.from_function, "AnalysisBase": Spread, "Projection": Projection}
        made = special.get(name) or getattr(mdreel, name, None) or getattr(mdreel.analysis, name)
        names = [one.removesuffix("s") for one in inspect.signature(made).parameters]
        assert any(re.search(rf"\b{one}", str(caught.value)) for one in names), f"no parameter: {caught.value}"


def zeros(*names: str) -> Callable[[Analysis], None]:
    def check(analysis: Analysis) -> None:
        values = [value for name in names for value in arrays_in(analysis.results[name])]
        np.testing.assert_allclose(np.concatenate([value.ravel() for value in values]), 0, atol=1e-5)

    return check


def finite(*names: str) -> Callable[[Analysis], None]:
    def check(analysis: Analysis) -> None:
        assert all(
            np.isfinite(value).all() and value.size for name in names for value in arrays_in(analysis.results[name])
        )

    return check


def counted(analysis: Analysis) -> None:
    assert sum(int(np.sum(value)) for value in arrays_in(analysis.results.count)) == N_FRAMES


ONE: dict[str, tuple[Made, Callable[[Any], None] | str]] = {
    "AnalysisBase": (lambda one, s: Spread(one, trajectory=s), zeros("spread")),
    "AverageStructure": (lambda one, s: mdreel.AverageStructure(one, trajectory=s), zeros("rmsd", "rmsf")),
    "Contacts": (
        lambda one, s: mdreel.Contacts(
            one.universe, (one, one.universe.atoms[:1]), refgroup=None, method="count", trajectory=s
        ),
        finite("timeseries"),
    ),
    "DSSP": (lambda one, s: mdreel.DSSP(one, trajectory=s), "N"),
    "Janin": (lambda one, s: mdreel.Janin(one, trajectory=s), finite("angles")),
    "DensityAnalysis": (
        lambda one, s: mdreel.DensityAnalysis(one, padding=50, delta=5, trajectory=s),
        finite("counts"),
    ),
    "Dihedral": (lambda one, s: mdreel.Dihedral([one], trajectory=s), "has 1 atoms"),
    "Dihedrals": (lambda one, s: mdreel.Dihedrals(one, trajectory=s), finite("angles")),
    "DistanceArray": (lambda one, s: mdreel.DistanceArray(one, trajectory=s), zeros("distances")),
    "DistanceMatrix": (
        lambda one, s: mdreel.DistanceMatrix(one, superposition=True, trajectory=s),
        zeros("dist_matrix"),
    ),
    "GromosClustering": (lambda one, s: mdreel.analysis.GromosClustering(one, trajectory=s), zeros("labels")),
    "DensityClustering": (lambda one, s: mdreel.analysis.DensityClustering(one, trajectory=s), zeros("labels")),
    "OnlineClustering": (lambda one, s: mdreel.analysis.OnlineClustering(one, trajectory=s), zeros("labels")),
    "HierarchicalClustering": (
        lambda one, s: mdreel.analysis.HierarchicalClustering(one, cutoff=1.0, trajectory=s),
        zeros("labels"),
    ),
    "KMeansClustering": (
        lambda one, s: mdreel.analysis.KMeansClustering(one, n_clusters=1, trajectory=s),
        zeros("labels"),
    ),
    "KMedoidsClustering": (
        lambda one, s: mdreel.analysis.KMedoidsClustering(one, n_clusters=1, trajectory=s),
        zeros("labels", "cost"),
    ),
    "LDDT": (lambda one, s: mdreel.analysis.LDDT(one, trajectory=s), "no distances of up to 15 Å"),
    "NativeContacts": (lambda one, s: mdreel.analysis.NativeContacts(one, trajectory=s), r"no contacts up to 4\.5 Å"),
    "ResidueRMSD": (lambda one, s: mdreel.analysis.ResidueRMSD(one, trajectory=s), zeros("rmsd", "residue_rmsd")),
    "SymmetricRMSD": (lambda one, s: mdreel.analysis.SymmetricRMSD(one, trajectory=s), zeros("rmsd")),
    "TMScore": (lambda one, s: mdreel.analysis.TMScore(one, trajectory=s), finite("tm_score", "gdt_ts", "gdt_ha")),
    "CrossCorrelation": (lambda one, s: mdreel.analysis.CrossCorrelation(one, trajectory=s), finite("correlation")),
    "InteractionFingerprint": (
        lambda one, s: mdreel.analysis.InteractionFingerprint(one, trajectory=s),
        zeros("counts"),
    ),
    "EinsteinMSD": (lambda one, s: mdreel.EinsteinMSD(one, trajectory=s), finite("timeseries")),
    "EndToEnd": (lambda one, s: mdreel.EndToEnd(one, trajectory=s), zeros("distances", "vectors")),
    "FunctionAnalysis": (lambda one, s: mdreel.from_function(spread, one, trajectory=s), zeros("timeseries")),
    "HelixEigenvalues": (lambda one, s: mdreel.HelixEigenvalues([one], trajectory=s), "segment 0 has 1 atoms"),
    "HydrogenBondAnalysis": (
        lambda one, s: mdreel.HydrogenBondAnalysis(one.universe, between=["index 0", "all"], trajectory=s),
        finite(),
    ),
    "WaterBridgeAnalysis": (
        lambda one, s: mdreel.analysis.WaterBridgeAnalysis(one.universe, "index 0", "all", "resid 3", trajectory=s),
        zeros("counts"),
    ),
    "InterRDF": (lambda one, s: mdreel.InterRDF(one, one, norm="none", trajectory=s), counted),
    "InterRDF_s": (lambda one, s: mdreel.InterRDF_s(one.universe, [(one, one)], norm="none", trajectory=s), counted),
    "LinearDensity": (lambda one, s: mdreel.LinearDensity(one, trajectory=s), finite("z")),
    "PCA": (lambda one, s: mdreel.PCA(one, align=True, trajectory=s), zeros("variance")),
    "Projection": (lambda one, s: Projection(one, np.zeros((1, 3)), np.ones((1, 1, 3)), None, s), finite("projection")),
    "RMSD": (lambda one, s: mdreel.RMSD(one, trajectory=s), lambda a: zeros("left")(_left(a))),
    "RMSF": (lambda one, s: mdreel.RMSF(one, superposition=True, trajectory=s), zeros("rmsf")),
    "Ramachandran": (lambda one, s: mdreel.Ramachandran(one, trajectory=s), "no residue of the 1 atoms"),
    "ResidueContacts": (lambda one, s: mdreel.ResidueContacts(one, trajectory=s), "there are no pairs"),
    "Rg": (lambda one, s: mdreel.Rg(one, trajectory=s), lambda a: zeros("left")(_left(a))),
    "SASA": (lambda one, s: mdreel.SASA(one, trajectory=s), finite("sasa", "total_area")),
    "SurvivalProbability": (
        lambda one, s: mdreel.analysis.SurvivalProbability(one, "around 3 all", 3, trajectory=s),
        zeros("counts"),
    ),
    "WaterOrientationalRelaxation": (
        lambda one, s: mdreel.analysis.WaterOrientationalRelaxation(one, "around 3 all", 3, trajectory=s),
        "no oxygen atoms of water",
    ),
    "Selection": (lambda one, s: mdreel.Selection(one, "around 3 all", trajectory=s), zeros("counts")),
}


def _left(analysis: Any) -> Any:
    """Return the results without frame numbers and times."""
    (values,) = everything(analysis)
    analysis.results.left = values[:, 2:]
    return analysis


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_one_atom_has_a_clear_answer(name: str) -> None:
    make, expected = ONE[name]
    atom = peptide().select_atoms("name CA")[:1]
    source = in_memory(peptide_positions()[:N_FRAMES])
    if isinstance(expected, str):
        with pytest.raises((MismatchError, SelectionError), match=expected):
            make(atom, source).run()
    else:
        expected(make(atom, source).run())


@pytest.mark.parametrize("given", ["atoms", "positions"])
@pytest.mark.parametrize(
    "make",
    [
        mdreel.RMSD,
        lambda atoms, other: mdreel.RMSF(atoms, superposition=True, reference=other),
        mdreel.transformations.fit_rot_trans,
    ],
    ids=["RMSD", "RMSF", "fit_rot_trans"],
)
def test_reference_of_another_size_is_refused(make: Callable[[Any, Any], Any], given: str) -> None:
    atoms = peptide().select_atoms("name CA")
    other = atoms[1:] if given == "atoms" else np.zeros((len(atoms) - 1, 3))
    with pytest.raises(MismatchError, match=r"14.*13|13.*14"):
        make(atoms, other)


@pytest.mark.parametrize("lost", [np.zeros(6), [30, 30, 0, 90, 90, 90]], ids=["none", "flat"])
@pytest.mark.parametrize(
    "make",
    [
        lambda u, s: mdreel.Contacts(u, ("name C*", "name O*"), 0, require_cell=True, trajectory=s),
        lambda u, s: mdreel.Contacts(u, ("name C*", "name O*"), None, "count", require_cell=True, trajectory=s),
        lambda u, s: mdreel.DistanceArray(u.atoms[:5], pbc=True, trajectory=s),
        lambda u, s: mdreel.DistanceArray(u.atoms[:5], pbc=True, cutoff=3.0, trajectory=s),
        lambda u, s: mdreel.InterRDF(u.atoms[:5], u.atoms, trajectory=s),
        lambda u, s: mdreel.InterRDF_s(u, [(u.atoms[:5], u.atoms[:3])], trajectory=s),
        lambda u, s: mdreel.LinearDensity(u.atoms[:5], trajectory=s),
        lambda u, s: mdreel.SASA(u.atoms[:5], n_sphere_points=8, pbc=True, trajectory=s),
        lambda u, s: mdreel.EinsteinMSD(u.atoms[:5], nojump="lattice", trajectory=s),
        lambda u, s: mdreel.EinsteinMSD(u.atoms[:5], nojump="toroidal", trajectory=s),
    ],
    ids=["contacts", "counted", "distances", "statistics", "rdf", "rdf_s", "profiles", "sasa", "msd", "msd, toroidal"],
)
def test_frame_that_has_lost_its_cell_is_named(make: Callable[[Any, Any], Analysis], lost: Any) -> None:
    cells = np.tile(np.array([60, 60, 60, 90, 90, 90], np.float32), (N_FRAMES, 1))
    positions = peptide_positions()[:N_FRAMES]
    make(peptide(), in_memory(positions, cells)).run()
    cells[4] = lost
    with pytest.raises(MismatchError, match=r"frame 4.*cell"):
        make(peptide(), in_memory(positions, cells)).run()


def test_residues_without_a_torsion_are_left_out_or_refused() -> None:
    universe = peptide()
    source = in_memory(peptide_positions()[:N_FRAMES])
    first, last = universe.residues[0], universe.residues[-1]
    with pytest.warns(UserWarning, match="2 of 14 residues are left out"):
        some = mdreel.Ramachandran(universe.atoms, trajectory=source).run()
    assert {first, last}.isdisjoint(some.residues)
    assert some.results.angles.shape == (N_FRAMES, 12, 2)
    ends = mdreel.Dihedrals(first.atoms + last.atoms, trajectory=source).run()
    assert ends.names == [f"psi {first.resname} {first.resid}", f"phi {last.resname} {last.resid}"]
    for residue, kind in ((first, "phi"), (last, "psi")):
        with pytest.raises(SelectionError, match=f"has a torsion {kind}"):
            mdreel.Dihedrals(residue.atoms, [kind])
        with pytest.raises(SelectionError, match="has all of the torsions phi, psi"):
            mdreel.Ramachandran(residue.atoms)
        with pytest.warns(UserWarning, match="the results are empty"):
            none = mdreel.Ramachandran(residue.atoms, check_protein=False, trajectory=source).run()
        assert none.results.angles.shape == (N_FRAMES, 0, 2)
        assert (len(none.ag1), none.residue_labels) == (0, [])
        with pytest.raises(SelectionError, match="no angles to draw"):
            none.plot_distribution()


class Talks(Spread):
    """An analysis that prints in each frame."""

    def _single_frame(self) -> None:
        print("frame", self._frame_index, flush=True)
        super()._single_frame()


def talks(positions: np.ndarray) -> float:
    """Print a line and return a number."""
    print("frame of", len(positions), "atoms", flush=True)
    return spread(positions)


@pytest.mark.parametrize("backend", ["serial", "threads", "processes"])
def test_output_of_user_code_does_not_disturb_workers(backend: str, adk_xtc: Any) -> None:
    atoms = MDAnalysis.Universe(PSF).atoms[:30]
    expected = mdreel.from_function(spread, atoms, trajectory=adk_xtc).run().results.timeseries
    own, function = Talks(atoms, trajectory=adk_xtc), mdreel.from_function(talks, atoms, trajectory=adk_xtc)
    mdreel.run([own, function], backend=backend, n_workers=None if backend == "serial" else 2, n_parts=5)
    np.testing.assert_array_equal(function.results.timeseries, expected)
    np.testing.assert_array_equal(own.results.spread, expected)


UPDATING: dict[str, Callable[[Any], Any]] = {
    "RMSD": mdreel.RMSD,
    "RMSD(reference)": lambda group: mdreel.RMSD(group.universe, group),
    "RMSF": mdreel.RMSF,
    "AlignTraj": lambda group: mdreel.AlignTraj(group, group.universe, filename="aligned.dcd"),
    "AverageStructure": mdreel.AverageStructure,
    "PCA": mdreel.PCA,
    "CrossCorrelation": mdreel.analysis.CrossCorrelation,
    "LDDT": mdreel.analysis.LDDT,
    "TMScore(reference)": lambda group: mdreel.analysis.TMScore(group.universe, group),
    "DensityClustering": mdreel.analysis.DensityClustering,
    "OnlineClustering": mdreel.analysis.OnlineClustering,
    "HierarchicalClustering": lambda group: mdreel.analysis.HierarchicalClustering(group, cutoff=1.0),
    "KMeansClustering": lambda group: mdreel.analysis.KMeansClustering(group, n_clusters=2),
    "KMedoidsClustering": lambda group: mdreel.analysis.KMedoidsClustering(group, n_clusters=2),
    "EinsteinMSD": mdreel.EinsteinMSD,
    "DSSP": mdreel.DSSP,
    "Ramachandran": mdreel.Ramachandran,
    "Janin": mdreel.Janin,
    "Contacts": lambda group: mdreel.Contacts(group.universe, (group, group), (group, group)),
    "ResidueContacts": mdreel.ResidueContacts,
    "ResidueContacts(other)": lambda group: mdreel.ResidueContacts(group.universe, group),
    "InteractionFingerprint": mdreel.analysis.InteractionFingerprint,
    "InteractionFingerprint(other)": lambda group: mdreel.analysis.InteractionFingerprint(group.universe, group),
    "SASA": mdreel.SASA,
    "DistanceArray": lambda group: mdreel.DistanceArray(group, group),
    "read": lambda group: mdreel.read(group.universe, group),
}


@pytest.mark.parametrize("name", UPDATING)
def test_group_that_changes_is_refused_and_never_frozen(name: str) -> None:
    group = MDAnalysis.Universe(PSF, DCD).select_atoms("around 5 resname ALA", updating=True)
    with pytest.raises(UnsupportedError, match="UpdatingAtomGroup"):
        UPDATING[name](group)
