"""Every analysis on a small peptide, its results and their laws: `test_laws.py` fails if one is missing in `CASES`."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import numpy as np

import mdreel
import mdreel.analysis
from analysis_case import Case, result
from comparable_results import (
    arrays_in,
    bonds_by_ids,
    bridges_by_ids,
    by_ids,
    contacts_by_ids,
    interactions_by_ids,
    on_the_circle,
)
from mdreel.analysis import CrossCorrelation
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.projection import Projection
from peptide_groups import backbone, fours, shell
from peptide_system import System, peptide_positions
from users_code import Spread, gap, spread


def projection(system: System) -> Projection:
    """Displacements from the first frame along directions of no meaning."""
    ranks = system.universe.atoms.ids - 1
    origin = peptide_positions()[0].astype(np.float64)[ranks]
    directions = np.random.default_rng(2).normal(0, 0.05, (2, *origin.shape))
    directions = np.ascontiguousarray(directions[:, ranks])
    return Projection(system.universe.atoms, origin, directions, origin, system.trajectory)


CASES = {
    "AnalysisBase": Case(lambda s: Spread(s.pick(), trajectory=s.trajectory), copies=2),
    "AverageStructure": Case(
        lambda s: mdreel.AverageStructure(s.universe, trajectory=s.trajectory),
        lambda a: [by_ids(a, "positions"), by_ids(a, "rmsf"), np.array(a.results.rmsd)],
        lambda a: [by_ids(a, "rmsf"), np.array(a.results.rmsd)],
        beside=(32, 0),
    ),
    "Contacts": Case(
        lambda s: mdreel.Contacts(
            s.universe, (s.pick("name C*"), s.pick("name O* N*")), 0, "soft_cut", 9.0, trajectory=s.trajectory
        )
    ),
    "Contacts, counted": Case(
        lambda s: mdreel.Contacts(
            s.universe,
            (s.pick(), s.pick("name O*")),
            refgroup=None,
            method="count",
            radius=6.0,
            trajectory=s.trajectory,
        ),
        tolerance=2,
    ),
    "Contacts, counted in groups that change": Case(
        lambda s: mdreel.Contacts(
            s.universe, (shell(s), shell(s, 5)), None, method="count", radius=6.0, trajectory=s.trajectory
        ),
        tolerance=2,
    ),
    "DensityAnalysis": Case(
        lambda s: mdreel.DensityAnalysis(s.pick(), 2.0, trajectory=s.trajectory),
        motion="a grid stays where it is",
    ),
    "DensityAnalysis, of a group that changes": Case(
        lambda s: mdreel.DensityAnalysis(
            shell(s), 2.0, gridcenter=[0, 0, 0], xdim=60, ydim=60, zdim=60, trajectory=s.trajectory
        ),
        motion="a grid stays where it is",
    ),
    "Dihedral": Case(lambda s: mdreel.Dihedral(fours(s), trajectory=s.trajectory), unmoved=on_the_circle),
    "Dihedrals": Case(lambda s: mdreel.Dihedrals(s.universe.atoms, features="cos_sin", trajectory=s.trajectory)),
    "Ramachandran": Case(
        lambda s: mdreel.Ramachandran(s.universe.select_atoms("resid 2:13"), trajectory=s.trajectory),
        unmoved=on_the_circle,
    ),
    "Janin": Case(
        lambda s: mdreel.Janin(s.universe.select_atoms("resname ARG ILE LEU"), trajectory=s.trajectory),
        unmoved=on_the_circle,
    ),
    "DistanceArray": Case(lambda s: mdreel.DistanceArray(s.pick("name CA"), s.pick("name O"), trajectory=s.trajectory)),
    "DistanceArray, statistics": Case(
        lambda s: mdreel.DistanceArray(s.pick("name CA"), s.pick(), cutoff=8.0, trajectory=s.trajectory),
        unmoved=result("mean", "variance"),
    ),
    "DSSP": Case(
        lambda s: mdreel.DSSP(s.universe, method="kabsch-sander", trajectory=s.trajectory),
        result("fraction"),
        tolerance=0.02,  # a bond may be at the edge
        copies=2,
    ),
    "DSSP, simplified": Case(
        lambda s: mdreel.DSSP(s.universe, trajectory=s.trajectory),
        result("fraction"),
        tolerance=0.02,
        copies=2,
    ),
    "DistanceMatrix": Case(
        lambda s: mdreel.DistanceMatrix(s.universe, superposition=True, cutoff=0.1, trajectory=s.trajectory),
        beside=(40, 48),
        step=8,
    ),
    "GromosClustering": Case(
        lambda s: mdreel.analysis.GromosClustering(s.universe, cutoff=0.8, trajectory=s.trajectory),
        result("labels", "sizes", "centers", "transitions"),
        beside=(500, 40),
        step=8,
    ),
    "DensityClustering": Case(
        lambda s: mdreel.analysis.DensityClustering(s.universe, None, 0.8, 3, trajectory=s.trajectory),
        result("labels", "sizes", "centers", "transitions"),
        beside=(500, 40),
        step=8,
    ),
    "OnlineClustering": Case(
        lambda s: mdreel.analysis.OnlineClustering(s.universe, None, 0.8, trajectory=s.trajectory),
        result("labels", "sizes", "centers", "transitions"),
        beside=(500, 120),
        step=8,
    ),
    "HierarchicalClustering": Case(
        lambda s: mdreel.analysis.HierarchicalClustering(s.universe, n_clusters=2, trajectory=s.trajectory),
        result("labels", "sizes", "centers", "transitions", "linkage"),
        beside=(500, 40),
        step=16,
    ),
    "KMeansClustering": Case(
        lambda s: mdreel.analysis.KMeansClustering(s.universe, n_clusters=2, trajectory=s.trajectory),
        result("labels", "sizes", "centers", "transitions"),
        beside=(500, 40),
        step=8,
    ),
    "KMedoidsClustering": Case(
        lambda s: mdreel.analysis.KMedoidsClustering(s.universe, n_clusters=2, trajectory=s.trajectory),
        result("labels", "sizes", "centers", "transitions"),
        beside=(500, 40),
        step=16,
    ),
    "LDDT": Case(
        lambda s: mdreel.analysis.LDDT(s.pick("not name H*"), trajectory=s.trajectory),
        tolerance=0.1,  # a distance of a residue may be at a threshold
        copies=2,
        beside=(24, 0),
    ),
    "NativeContacts": Case(
        lambda s: mdreel.analysis.NativeContacts(s.pick("not name H*"), trajectory=s.trajectory),
        result("q"),
        copies=2,
    ),
    "ResidueRMSD": Case(
        lambda s: mdreel.analysis.ResidueRMSD(s.pick(), select="not name H*", trajectory=s.trajectory),
        copies=2,
        beside=(24, 0),
    ),
    "SymmetricRMSD": Case(
        lambda s: mdreel.analysis.SymmetricRMSD(s.pick("resid 2:5"), select="not name H*", trajectory=s.trajectory),
        copies=2,
    ),
    "TMScore": Case(
        lambda s: mdreel.analysis.TMScore(s.pick(), trajectory=s.trajectory),
        tolerance=0.1,  # a residue may be at a cutoff
        copies=2,
        beside=(24, 0),
    ),
    "CrossCorrelation": Case(lambda s: CrossCorrelation(s.pick("name CA"), None, True, trajectory=s.trajectory)),
    "EinsteinMSD": Case(
        lambda s: mdreel.EinsteinMSD(s.pick(), None, fft=False, max_lag=20, trajectory=s.trajectory),
        motion="all",
        tolerance=1e-2,
        beside=(40, 12),
    ),
    "EinsteinMSD, by transforms": Case(
        lambda s: mdreel.EinsteinMSD(s.pick(), None, max_lag=20, trajectory=s.trajectory),
        motion="all",
        tolerance=1e-2,
        beside=(40, 12),
    ),
    "EndToEnd": Case(
        lambda s: mdreel.EndToEnd([s.pick(), s.pick("name CA")], trajectory=s.trajectory),
        unmoved=result("distances"),
        copies=2,
    ),
    "FunctionAnalysis": Case(lambda s: mdreel.from_function(spread, s.pick(), trajectory=s.trajectory)),
    "FunctionAnalysis, two groups": Case(
        lambda s: mdreel.from_function(gap, s.pick(), s.pick("name CA"), trajectory=s.trajectory), copies=2
    ),
    "FunctionAnalysis, reduced": Case(
        lambda s: mdreel.from_function(spread, s.pick(), reduce="std", trajectory=s.trajectory)
    ),
    "HelixEigenvalues": Case(
        lambda s: mdreel.HelixEigenvalues(
            [s.pick("resid 1:4"), s.pick("resid 5:8"), s.pick("resid 9:14")], pairs=True, trajectory=s.trajectory
        ),
        step=4,
    ),
    "HydrogenBondAnalysis": Case(
        lambda s: mdreel.HydrogenBondAnalysis(
            s.universe, d_a_cutoff=3.6, d_h_a_angle_cutoff=120, trajectory=s.trajectory
        ),
        bonds_by_ids,
        lambda a: [a.count_by_time()],
        tolerance=1,
        copies=2,
    ),
    "HydrogenBondAnalysis, selected again": Case(
        lambda s: mdreel.HydrogenBondAnalysis(
            s.universe,
            hydrogens_sel="name H* and around 4 name O",
            acceptors_sel="name O and prop x > -20",
            d_a_cutoff=3.6,
            d_h_a_angle_cutoff=120,
            trajectory=s.trajectory,
        ),
        bonds_by_ids,
        motion="the selection depends on where the peptide is",
        copies=2,
    ),
    "WaterBridgeAnalysis": Case(
        lambda s: mdreel.analysis.WaterBridgeAnalysis(
            s.universe,
            "resid 1:5",
            "resid 8:14",
            "resid 4:9",
            3,
            angle=90.0,
            filter_first=False,
            trajectory=s.trajectory,
        ),
        bridges_by_ids,
        result("counts"),
        tolerance=30,  # a bond may be at a limit, and is in several bridges
        copies=2,
        beside=(40, 0),
    ),
    "WaterBridgeAnalysis, selected again": Case(
        lambda s: mdreel.analysis.WaterBridgeAnalysis(
            s.universe,
            "resid 1:5 and around 9 resid 9",
            "resid 8:14",
            "name N O and around 6 resid 5",
            2,
            update_selection=True,
            angle=90.0,
            trajectory=s.trajectory,
        ),
        bridges_by_ids,
        result("counts"),
        tolerance=30,
        copies=2,
        beside=(40, 0),
    ),
    "InterRDF": Case(
        lambda s: mdreel.InterRDF(s.pick("name C*"), s.pick(), 40, (0, 12), "density", trajectory=s.trajectory),
        unmoved=result("count"),
        tolerance=10,
    ),
    "InterRDF, of groups that change": Case(
        lambda s: mdreel.InterRDF(shell(s), shell(s, 5), 40, (0, 12), "density", trajectory=s.trajectory),
        unmoved=result("count"),
        tolerance=10,
    ),
    "InterRDF_s": Case(
        lambda s: mdreel.InterRDF_s(
            s.universe,
            [(s.pick("resid 1:2 and name C*"), s.pick("resid 9:14 and name N* O*"))],
            20,
            (0, 30),
            "density",
            trajectory=s.trajectory,
        ),
        lambda a: arrays_in([a.results.count, a.results.rdf]),
        lambda a: arrays_in(a.results.count),
        tolerance=2,
    ),
    "LinearDensity": Case(
        lambda s: mdreel.LinearDensity(s.pick(), "residues", 1.0, trajectory=s.trajectory),
        lambda a: [a.results[axis].mass_density for axis in "xyz"],
        motion="axes stay where they are",
    ),
    "LinearDensity, of a group that changes": Case(
        lambda s: mdreel.LinearDensity(shell(s), "residues", 1.0, trajectory=s.trajectory),
        lambda a: [a.results[axis].mass_density for axis in "xyz"],
        motion="axes stay where they are",
    ),
    "InteractionFingerprint": Case(
        lambda s: mdreel.analysis.InteractionFingerprint(s.pick(), atom_indices=True, trajectory=s.trajectory),
        interactions_by_ids,
        result("counts"),
        tolerance=4,  # some are at a limit
        copies=2,
        beside=(24, 0),
    ),
    "PCA": Case(lambda s: mdreel.PCA(s.universe, "backbone", align=True, trajectory=s.trajectory), result("variance")),
    "Projection": Case(projection, copies=2),
    "RMSD": Case(lambda s: mdreel.RMSD(s.pick(), trajectory=s.trajectory)),
    "RMSD, of groups": Case(
        lambda s: mdreel.RMSD(s.pick("name CA"), groupselections=["name O", "resid 3:9"], trajectory=s.trajectory)
    ),
    "RMSF": Case(
        lambda s: mdreel.RMSF(s.pick(), superposition="name CA", trajectory=s.trajectory), unmoved=result("rmsf")
    ),
    "ResidueContacts": Case(
        lambda s: mdreel.ResidueContacts(s.pick(), cutoff=6.0, trajectory=s.trajectory),
        contacts_by_ids,
        result("counts"),
        tolerance=2,  # a pair may be at the cutoff
        copies=2,
        beside=(24, 0),
    ),
    "ResidueContacts, of two groups": Case(
        lambda s: mdreel.ResidueContacts(
            s.pick("resid 1:9"), s.pick("resid 6:14"), cutoff=6.0, series=False, trajectory=s.trajectory
        ),
        contacts_by_ids,
        result("counts"),
        tolerance=2,
        beside=(24, 0),
    ),
    "SASA": Case(
        lambda s: mdreel.SASA(s.pick(), n_sphere_points=100, trajectory=s.trajectory),
        motion="points of spheres do not turn with the atoms",
        copies=2,
        step=4,
    ),
    "SASA, of a group that changes": Case(
        lambda s: mdreel.SASA(
            shell(s), n_sphere_points=100, mode="residue", average=True, surface=s.pick(), trajectory=s.trajectory
        ),
        motion="points of spheres do not turn with the atoms",
        step=4,
    ),
    "SASA, averaged": Case(
        lambda s: mdreel.SASA(s.pick(), n_sphere_points=100, mode="residue", average=True, trajectory=s.trajectory),
        motion="points of spheres do not turn with the atoms",
        beside=(24, 0),
        step=4,
    ),
    "Selection": Case(
        lambda s: mdreel.Selection(s.universe, "name C* and around 4 (name O N)", trajectory=s.trajectory),
        result("counts"),
        result("counts"),
        tolerance=2,
        beside=(24, 0),
    ),
    "Selection, counted": Case(
        lambda s: mdreel.Selection(s.universe, "byres sphzone 6 name CA", ids=False, trajectory=s.trajectory),
        tolerance=30,
        beside=(24, 0),
    ),
    "SurvivalProbability": Case(
        lambda s: mdreel.analysis.SurvivalProbability(
            s.universe, "name C* and around 4 (name O N)", 2, 2, 1, trajectory=s.trajectory
        ),
        unmoved=result("counts"),
        tolerance=2,  # some atoms are at the limit
        beside=(24, 60),
    ),
    "SurvivalProbability, of residues": Case(
        lambda s: mdreel.analysis.SurvivalProbability(
            s.universe, "name C* and around 4 (name O N)", 2, residues=True, trajectory=s.trajectory
        ),
        unmoved=result("counts"),
        tolerance=2,
        beside=(24, 60),
    ),
    "WaterOrientationalRelaxation": Case(
        lambda s: mdreel.analysis.WaterOrientationalRelaxation(
            s.universe, "name CA and around 5 name HN", 2, molecules=backbone(s), trajectory=s.trajectory
        ),
        unmoved=result("oh", "hh", "dipole"),
        motion="all",
        tolerance=0.05,  # some atoms are at the limit
        beside=(24, 180),
    ),
    "Rg, of a group that changes": Case(
        lambda s: mdreel.Rg(shell(s), trajectory=s.trajectory), unmoved=lambda a: [a.results.rgyr[:, :3]], tolerance=0.2
    ),
    "Rg": Case(lambda s: mdreel.Rg(s.pick(), trajectory=s.trajectory), unmoved=lambda a: [a.results.rgyr[:, :3]]),
}


def analyses() -> Iterator[type[Analysis]]:
    """The classes of analyses that there are."""
    found = pkgutil.walk_packages(mdreel.analysis.__path__, "mdreel.analysis.")
    for module in [importlib.import_module(one.name) for one in found]:  # all of them first: subclasses show bases
        for name, kind in inspect.getmembers(module, inspect.isclass):
            is_one = issubclass(kind, Analysis) and kind.computation is not Analysis.computation
            is_base = any(one.__module__.startswith("mdreel.analysis.") for one in kind.__subclasses__())
            if is_one and not is_base and kind.__module__ == module.__name__ and not name.startswith("_"):
                yield kind
