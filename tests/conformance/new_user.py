"""Natural mistakes of a new user, each with the message that mdreel must give.

A message is one line. The pattern of a mistake matches the part that says what to do.
"""

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import MDAnalysis
import numpy as np
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC, PDB_small

import mdreel

Made = Callable[..., Any]


@dataclass(frozen=True)
class Systems:
    """Universes: a protein without a cell, the same again, the same without a trajectory, and one in water."""

    u: MDAnalysis.Universe
    again: MDAnalysis.Universe
    bare: MDAnalysis.Universe
    water: MDAnalysis.Universe

    @property
    def ca(self) -> MDAnalysis.AtomGroup:
        """The alpha carbons of the protein."""
        return self.u.select_atoms("name CA")


@cache
def systems() -> Systems:
    """Read the systems once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Systems(
            MDAnalysis.Universe(PSF, DCD),
            MDAnalysis.Universe(PSF, DCD),
            MDAnalysis.Universe(PSF),
            MDAnalysis.Universe(GRO, XTC),
        )


MAKE: dict[str, Made] = {
    "AlignTraj": lambda a, **k: mdreel.AlignTraj(a, a, select="name CA", in_memory=True, **k),
    "AverageStructure": lambda a, **k: mdreel.AverageStructure(a, select="name CA", **k),
    "Contacts": lambda a, **k: mdreel.Contacts(a, ("name CA", "name CB"), 0, **k),
    "DSSP": mdreel.DSSP,
    "DensityAnalysis": lambda a, **k: mdreel.DensityAnalysis(a, 5.0, **k),
    "Dihedral": lambda a, **k: mdreel.Dihedral([a], **k),
    "Dihedrals": mdreel.Dihedrals,
    "DistanceArray": mdreel.DistanceArray,
    "DistanceMatrix": lambda a, **k: mdreel.DistanceMatrix(a, select="name CA", **k),
    "GromosClustering": lambda a, **k: mdreel.analysis.GromosClustering(a, select="name CA", **k),
    "DensityClustering": lambda a, **k: mdreel.analysis.DensityClustering(a, select="name CA", **k),
    "OnlineClustering": lambda a, **k: mdreel.analysis.OnlineClustering(a, select="name CA", **k),
    "HierarchicalClustering": lambda a, **k: mdreel.analysis.HierarchicalClustering(
        a, select="name CA", n_clusters=1, **k
    ),
    "KMeansClustering": lambda a, **k: mdreel.analysis.KMeansClustering(a, select="name CA", n_clusters=1, **k),
    "KMedoidsClustering": lambda a, **k: mdreel.analysis.KMedoidsClustering(a, select="name CA", n_clusters=1, **k),
    "LDDT": lambda a, **k: mdreel.analysis.LDDT(a, select="name CA", **k),
    "NativeContacts": mdreel.analysis.NativeContacts,
    "ResidueRMSD": mdreel.analysis.ResidueRMSD,
    "SymmetricRMSD": lambda a, **k: mdreel.analysis.SymmetricRMSD(a, select="resid 1:2 and not name H*", **k),
    "TMScore": mdreel.analysis.TMScore,
    "CrossCorrelation": lambda a, **k: mdreel.analysis.CrossCorrelation(a, select="name CA", **k),
    "EinsteinMSD": mdreel.EinsteinMSD,
    "EndToEnd": lambda a, **k: mdreel.EndToEnd([a], **k),
    "InteractionFingerprint": mdreel.analysis.InteractionFingerprint,
    "HelixEigenvalues": lambda a, **k: mdreel.HelixEigenvalues([a], **k),
    "HydrogenBondAnalysis": mdreel.HydrogenBondAnalysis,
    "WaterBridgeAnalysis": lambda a, **k: mdreel.analysis.WaterBridgeAnalysis(
        a, "resid 1:40", "resid 60:120", "resid 41:59", **k
    ),
    "InterRDF": lambda a, **k: mdreel.InterRDF(a, a, **k),
    "InterRDF_s": lambda a, **k: mdreel.InterRDF_s(a, [(a.atoms[:2], a.atoms[:3])] if hasattr(a, "atoms") else [], **k),
    "Janin": mdreel.Janin,
    "LinearDensity": mdreel.LinearDensity,
    "PCA": lambda a, **k: mdreel.PCA(a, select="name CA", **k),
    "RMSD": mdreel.RMSD,
    "RMSF": mdreel.RMSF,
    "Ramachandran": mdreel.Ramachandran,
    "ResidueContacts": mdreel.ResidueContacts,
    "Rg": mdreel.Rg,
    "SASA": mdreel.SASA,
    "Selection": lambda a, **k: mdreel.Selection(a, "name CA and around 3 name O", **k),
    "SurvivalProbability": lambda a, **k: mdreel.analysis.SurvivalProbability(a, "name CA and around 3 name O", **k),
    "from_function": lambda a, **k: mdreel.from_function(lambda positions: positions.mean(), a, **k),
}
"""Analyses of some atoms, with other arguments as a user gives them."""

OF_UNIVERSES = ("HydrogenBondAnalysis", "InterRDF_s", "WaterBridgeAnalysis")


def some_atoms(name: str, of: MDAnalysis.Universe) -> Any:
    """Atoms that an analysis accepts."""
    if name in OF_UNIVERSES:
        return of
    return of.atoms[:4] if name == "Dihedral" else of.select_atoms("resid 1:20")


COMMON: dict[str, tuple[Callable[[str, Made, Systems], Any], str]] = {
    "path of a topology": (lambda _, make, s: make(PSF), r"open files with MDAnalysis\.Universe"),
    "path of a trajectory": (lambda _, make, s: make(DCD), r"open files with MDAnalysis\.Universe"),
    "text of a selection": (
        lambda _, make, s: make("name CA"),
        r"select atoms with universe\.select_atoms\('name CA'\)",
    ),
    "no trajectory": (lambda name, make, s: make(some_atoms(name, s.bare)).run(), "give one with trajectory="),
    "trajectory of another system": (
        lambda name, make, s: make(some_atoms(name, s.u), trajectory=XTC).run(),
        "47681 atoms, the topology has 3341: use the topology of the same system",
    ),
    "misspelt parameter": (
        lambda name, make, s: make(some_atoms(name, s.u), trajektory=XTC),
        "no parameter 'trajektory': did you mean 'trajectory'",
    ),
    "results before the run": (
        lambda name, make, s: make(some_atoms(name, s.u)).results.abc,
        r"no results yet: call run\(\)",
    ),
    "file before the run": (
        lambda name, make, s: make(some_atoms(name, s.u)).save("x.csv"),
        r"no results yet: call run\(\)",
    ),
    "first frame beyond the end": (
        lambda name, make, s: make(some_atoms(name, s.u)).run(start=500),
        "no frame is left of start=500: the trajectory has 98 frames, 0 to 97",
    ),
    "frame beyond the end": (
        lambda name, make, s: make(some_atoms(name, s.u)).run(frames=[0, 500]),
        "frame 500 does not exist: the trajectory has 98 frames, 0 to 97",
    ),
    "no workers": (lambda name, make, s: make(some_atoms(name, s.u)).run(n_workers=0), "n_workers must be at least 1"),
    "unknown backend": (
        lambda name, make, s: make(some_atoms(name, s.u)).run(backend="thread"),
        "unknown backend 'thread'; known: serial, threads",
    ),
    "file for a frame": (
        lambda name, make, s: make(some_atoms(name, s.u)).run("x.xtc"),
        "start must be a whole number",
    ),
}
"""Mistakes that each analysis must explain."""

LEFT_OUT = {
    ("AlignTraj", "no trajectory"): "the reference needs positions, which is said first",
    ("AlignTraj", "trajectory of another system"): "it has no parameter trajectory",
    ("AlignTraj", "misspelt parameter"): "it has no parameter trajectory",
    ("AlignTraj", "results before the run"): "an alignment has its results of MDAnalysis before",
    ("HydrogenBondAnalysis", "no trajectory"): "it needs no positions to be made",
    ("LinearDensity", "first frame beyond the end"): "a system without a cell is refused first",
    ("LinearDensity", "frame beyond the end"): "a system without a cell is refused first",
}
"""Pairs of analyses and mistakes that do not exist, with the reason."""

Mistake = tuple[Callable[[Systems], Any], str]

SELECTIONS: dict[str, Mistake] = {
    "open parenthesis": (lambda s: mdreel.RMSD(s.u, select="name CA and ("), "ends too early, see https://"),
    "unknown keyword": (lambda s: mdreel.RMSD(s.u, select="nme CA"), "did you mean 'name'"),
    "empty text": (lambda s: mdreel.RMSD(s.u, select=""), "the selection is empty: give one such as 'protein and name"),
    "wrong case": (lambda s: mdreel.PCA(s.u, select="name ca"), "no atom has the name 'ca', did you mean 'CA'"),
    "unknown name": (lambda s: mdreel.PCA(s.u, select="name XX"), "no atom has the name 'XX', only C, CA, CB"),
    "no match": (lambda s: mdreel.RMSD(s.u, select="protein and not protein"), "the residues ALA, ARG"),
    "dynamic": (lambda s: mdreel.Selection(s.u, "around 3"), "ends too early, see https://"),
    "empty group": (lambda s: mdreel.Rg(s.u.select_atoms("name XX")), "change the selection that it was made with"),
    "empty group with a selection": (
        lambda s: mdreel.RMSD(s.u.select_atoms("name XX")),
        "^atomgroup has no atoms: change the selection that it was made with",
    ),
    "empty second group": (lambda s: mdreel.InterRDF(s.ca, s.ca[:0]), "g2 has no atoms: change the selection"),
    "text for a group": (lambda s: mdreel.InterRDF(s.u, "name CA"), r"universe\.select_atoms\('name CA'\)"),
    "selection as the reference": (lambda s: mdreel.RMSD(s.u, "name CA"), "or give select='name CA'"),
    "group for a selection": (lambda s: mdreel.HydrogenBondAnalysis(s.u, hydrogens_sel=s.ca), "such as 'name CA'"),
    "group set for a selection": (
        lambda s: setattr(mdreel.HydrogenBondAnalysis(s.u), "acceptors_sel", s.ca),
        "acceptors_sel must be a selection string, such as 'name O', not an AtomGroup",
    ),
    "water for protein": (lambda s: mdreel.Dihedrals(s.water.select_atoms("resname SOL")), "residues of a protein"),
    "short side chains": (lambda s: mdreel.Janin(s.u.select_atoms("resname GLY ALA")), "with longer side chains"),
    "one residue": (lambda s: mdreel.Ramachandran(s.u.residues[:1].atoms), "inner residues of a protein"),
    "few residues": (lambda s: mdreel.DSSP(s.u.select_atoms("resid 1:3")), "select more, or use method="),
    "no backbone": (lambda s: mdreel.DSSP(s.ca), "select residues with a complete backbone"),
}

ARGUMENTS: dict[str, Mistake] = {
    "swapped arguments": (lambda s: mdreel.from_function(s.ca, np.mean), "did you swap f and atomgroup"),
    "path of a reference": (lambda s: mdreel.RMSD(s.u, PDB_small), r"open files with MDAnalysis\.Universe"),
    "reference of another size": (lambda s: mdreel.RMSD(s.ca, s.u), "select the same atoms in both"),
    "one analysis for several": (lambda s: mdreel.run(mdreel.RMSD(s.ca)), "not an RMSD: put it into a list"),
    "one analysis for several live": (
        lambda s: mdreel.live.stream_results(mdreel.RMSD(s.ca)),
        "not an RMSD: put it into a list",
    ),
    "unknown parameter of a live analysis": (
        lambda s: mdreel.live.stream_results([mdreel.RMSD(s.ca)], n_worker=2),
        "did you mean 'n_workers'",
    ),
    "one file for several": (
        lambda s: mdreel.trajectory.concat("a.xtc", "b.xtc"),
        "a sequence of texts or paths, .*put it into a list",
    ),
    "analysis in small letters": (lambda s: getattr(mdreel, "rmsd"), "did you mean 'RMSD'"),  # noqa: B009
    "class of an analysis": (lambda s: mdreel.run([mdreel.RMSD]), r"such as mdreel\.RMSD\(atoms\)"),
    "one group for several": (
        lambda s: mdreel.Dihedral(s.u.atoms[:4]),
        "a sequence of AtomGroups .*put it into a list",
    ),
    "flat pairs": (lambda s: mdreel.InterRDF_s(s.u, [s.ca, s.ca]), "put it into a list"),
    "three atoms": (lambda s: mdreel.Dihedral([s.u.atoms[:3]]), "give a list of groups of four"),
    "Universe for four atoms": (lambda s: mdreel.Dihedral([s.u]), "give a list of groups of four"),
    "number for a range": (lambda s: mdreel.InterRDF(s.ca, s.ca, range=3), "must be a sequence of 2 numbers"),
    "range for a number": (lambda s: mdreel.InterRDF(s.ca, s.ca, (0, 15)), "nbins must be a whole number"),
    "swapped range": (lambda s: mdreel.InterRDF(s.ca, s.ca, range=(15, 0)), "an ascending range"),
    "unknown norm": (lambda s: mdreel.InterRDF(s.ca, s.ca, norm="rfd"), "expected one of rdf, density, none"),
    "unknown weights": (lambda s: mdreel.Rg(s.ca, weights="charge"), "weights must be None, 'mass' or an array"),
    "few weights": (lambda s: mdreel.RMSD(s.ca, weights=[1, 2]), r"must have the shape \(214,\)"),
    "group as the mean": (lambda s: mdreel.PCA(s.ca, mean=s.ca), "give its positions"),
    "text for frames": (lambda s: mdreel.RMSD(s.ca).run(frames="all"), "frames must be a sequence of whole numbers"),
    "frames in two ways": (lambda s: mdreel.RMSD(s.ca).run(start=1, frames=[1]), "either frames or start, stop"),
    "group of another Universe": (
        lambda s: mdreel.InterRDF(s.ca, s.again.atoms),
        "g2 is in another Universe: both groups must be in the same one",
    ),
    "pair of another Universe": (
        lambda s: mdreel.InterRDF_s(s.u, [(s.again.atoms, s.again.atoms)]),
        "all groups must be in u",
    ),
    "options of another analysis": (
        lambda s: mdreel.RMSF(s.u, select="name CA"),
        r"select the atoms with universe\.select_atoms\(\.\.\.\) and give the group as 'atomgroup'",
    ),
    "superposition of components": (lambda s: mdreel.PCA(s.ca, superposition=True), "did you mean 'align'"),
    "alignment of fluctuations": (lambda s: mdreel.RMSF(s.ca, align=True), "did you mean 'superposition'"),
    "fit of deviations": (lambda s: mdreel.RMSD(s.ca, fit=True), "did you mean 'superposition'"),
    "superposed frames": (lambda s: mdreel.DistanceMatrix(s.ca, superpose=True), "did you mean 'superposition'"),
    "word of a phrase": (lambda s: mdreel.RMSF(s.ca, do_align=True), "did you mean 'superposition'"),
    "groups of deviations": (lambda s: mdreel.RMSD(s.ca, groups=["all"]), "did you mean 'groupselections'"),
    "atoms by another name": (lambda s: mdreel.RMSD(atoms=s.ca), "did you mean 'atomgroup'"),
    "Universe by another name": (lambda s: mdreel.EinsteinMSD(universe=s.u), "did you mean 'u'"),
    "bins by another name": (lambda s: mdreel.InterRDF(s.ca, s.ca, bins=50), "did you mean 'nbins'"),
    "frames of an analysis": (lambda s: mdreel.RMSD(s.ca, step=10), r"no parameter 'step': give it to run\(\)"),
    "stride of an analysis": (lambda s: mdreel.Rg(s.ca, stride=10), r"give 'step' to run\(\)"),
    "workers by another name": (lambda s: mdreel.RMSD(s.ca).run(n_jobs=2), "did you mean 'n_workers'"),
    "weights of a run": (lambda s: mdreel.RMSD(s.ca).run(weights="mass"), r"give it to RMSD\(\)"),
    "trajectories of two systems": (
        lambda s: mdreel.run([mdreel.RMSD(s.ca), mdreel.RMSD(s.water.select_atoms("name CA"))]),
        "run them separately",
    ),
    "group to read": (lambda s: mdreel.read(s.ca), r"as in read\(group\.universe, group\)"),
    "Universe to open": (lambda s: mdreel.open(s.u), r"give the path .*source_of\(universe\)"),
    "topology to open": (lambda s: mdreel.open(PSF), "expected a trajectory .*found a PSF topology"),
    "stream": (
        lambda s: mdreel.RMSD(MDAnalysis.Universe(io.StringIO(open(PDB_small).read()), format="PDB")).run(),  # noqa: PTH123, SIM115
        "give a file, or in_memory=True",
    ),
}

DATA: dict[str, Mistake] = {
    "rdf without a cell": (lambda s: mdreel.InterRDF(s.ca, s.ca).run(), 'no periodic cell.*give norm="none"'),
    "site rdf without a cell": (
        lambda s: mdreel.InterRDF_s(s.u, [(s.ca, s.ca)]).run(),
        'no periodic cell.*give norm="none"',
    ),
    "images without a cell": (lambda s: mdreel.DistanceArray(s.ca, pbc=True).run(), "give pbc=False"),
    "profile without a cell": (lambda s: mdreel.LinearDensity(s.ca).run(), "set the cell with MDAnalysis"),
    "jumps without a cell": (lambda s: mdreel.EinsteinMSD(s.ca, nojump="lattice").run(), "give nojump=None"),
    "no charges": (lambda s: mdreel.HydrogenBondAnalysis(s.water), "or give hydrogens_sel and acceptors_sel"),
    "no masses": (
        lambda s: mdreel.Rg(MDAnalysis.Universe.empty(5, trajectory=True).atoms),
        "give weights=None, or an array of weights",
    ),
    "no radii": (
        lambda s: mdreel.SASA(MDAnalysis.Universe.empty(5, trajectory=True).atoms),
        "give radii of all atoms",
    ),
    "no bonds": (
        lambda s: mdreel.transformations.unwrap(s.water.atoms),
        r"use one with bonds \(TPR, PSF, PRMTOP\), or guess them",
    ),
    "one frame for components": (lambda s: mdreel.PCA(s.ca).run(stop=1), "analyse more frames"),
    "several atoms of a residue": (
        lambda s: mdreel.analysis.TMScore(s.u, select="backbone"),
        "select one atom of each residue, such as select='name CA'",
    ),
    "hydrogens of a symmetric molecule": (
        lambda s: mdreel.analysis.SymmetricRMSD(s.u, select="resid 1:20"),
        "select its heavy atoms alone",
    ),
    "no bonds for symmetry": (lambda s: mdreel.analysis.SymmetricRMSD(s.water.atoms[:20]), r"use one with bonds \(TPR"),
    "windows longer than the run": (
        lambda s: mdreel.analysis.SurvivalProbability(s.u, "name CA and around 3 name O").run(stop=5),
        "tau_max must be at most 5, the number of frames, not 20: lower it, or analyse more frames",
    ),
    "ions as water": (
        lambda s: mdreel.analysis.WaterOrientationalRelaxation(s.water, "name O and around 3 name CA"),
        "but a water molecule has 1 and 2: select only water",
    ),
    "one frame for correlations": (
        lambda s: mdreel.analysis.CrossCorrelation(s.ca).run(stop=1),
        "analyse more frames",
    ),
    "more clusters than frames": (
        lambda s: mdreel.analysis.HierarchicalClustering(s.ca, n_clusters=9).run(stop=3),
        "there are only 3 frames",
    ),
    "more means than frames": (
        lambda s: mdreel.analysis.KMeansClustering(s.ca, n_clusters=9).run(stop=3),
        "there are only 3 frames",
    ),
    "features of other frames": (
        lambda s: mdreel.analysis.KMeansClustering(s.ca, n_clusters=2, features=[[1.0], [2.0]]).run(stop=3),
        "features has 2 rows, but 3 frames are analysed",
    ),
    "no limit of clusters": (lambda s: mdreel.analysis.HierarchicalClustering(s.ca), "give either cutoff"),
    "two frames for a fit": (lambda s: mdreel.EinsteinMSD(s.ca).run(stop=2).diffusion(), "or analyse more frames"),
    "fit beyond the end": (lambda s: mdreel.EinsteinMSD(s.ca).run(stop=9).diffusion(500), "fit between 0 and 8 ps"),
    "components before the run": (lambda s: mdreel.PCA(s.ca).transform(s.ca), r"Call run\(\)"),
    "components of other atoms": (
        lambda s: mdreel.PCA(s.ca).run(stop=3).transform(s.u.select_atoms("name CB")),
        "the components have 214 atoms, atomgroup has 194: select the same",
    ),
    "bonds before the run": (lambda s: mdreel.HydrogenBondAnalysis(s.u).lifetime(), r"call run\(\)"),
    "contacts in nm": (
        lambda s: mdreel.Contacts(s.u, ("name CA", "name CB"), 0, radius=0.45).run(),
        "raise the radius",
    ),
    "hydrogen bonds in nm": (lambda s: mdreel.HydrogenBondAnalysis(s.u, d_a_cutoff=0.3), "0.3 nm are 3 Å"),
    "file that exists": (lambda s: mdreel.Rg(s.ca).run(stop=2).save("there.csv"), "force=True replaces it"),
    "file of an unknown format": (
        lambda s: mdreel.Rg(s.ca).run(stop=2).save("rg.doc"),
        "known endings of tables: .csv",
    ),
    "folder that is missing": (
        lambda s: mdreel.Rg(s.ca).run(stop=2).save("gone/rg.csv"),
        "directory .* does not exist",
    ),
    "array as metadata": (
        lambda s: mdreel.Rg(s.ca).run(stop=2).save("rg.json", metadata={"a": np.zeros(3)}),
        r"metadata\['a'\] must be a text",
    ),
    "misspelt result": (lambda s: mdreel.RMSD(s.ca).run(stop=2).results.rmds, "known: rmsd"),
    "function that returns nothing": (lambda s: mdreel.from_function(print, s.ca).run(stop=2), "expected a number"),
}

LARGE: dict[str, Mistake] = {
    "distances": (lambda s: mdreel.DistanceArray(s.water.atoms).run(), "such as step=10, .*such as cutoff=8.0"),
    "mean distances": (lambda s: mdreel.DistanceArray(s.water.atoms, cutoff=8.0).run(), "select fewer atoms"),
    "components": (lambda s: mdreel.PCA(s.water).run(), "select fewer atoms"),
    "correlations": (lambda s: mdreel.analysis.CrossCorrelation(s.water).run(), "select fewer atoms"),
    "site rdf": (lambda s: mdreel.InterRDF_s(s.water, [(s.water.atoms, s.water.atoms)]).run(), "a smaller nbins"),
    "bins": (lambda s: mdreel.InterRDF(s.ca, s.ca, nbins=10**12), "give a smaller nbins"),
    "grid": (lambda s: mdreel.DensityAnalysis(s.ca, 1e-6).run(), "give a larger delta"),
}
"""Results that no machine has the memory for."""

WARNED: dict[str, Mistake] = {
    "rdf in nm": (lambda s: mdreel.InterRDF(s.ca, s.ca, range=(0, 1.2)), "1.2 nm are 12 Å"),
    "contacts in nm": (lambda s: mdreel.Contacts(s.u, ("name CA", "name O"), None, "count", radius=0.5), "are 5 Å"),
    "probe in nm": (lambda s: mdreel.SASA(s.ca, probe_radius=0.14), "0.14 nm are 1.4 Å"),
    "angle in radians": (lambda s: mdreel.HydrogenBondAnalysis(s.u, d_h_a_angle_cutoff=2.6), "are 149 degrees"),
    "too many components": (lambda s: mdreel.PCA(s.ca, n_components=1000), "all are kept"),
    "range beyond the cell": (
        lambda s: mdreel.InterRDF(*[s.water.select_atoms("name CA")] * 2, range=(0, 80)).run(stop=1),
        r"Use range=\(0, ",
    ),
}
"""Mistakes that give a result and a warning."""
