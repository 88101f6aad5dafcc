"""Every public callable with valid arguments, and wrong values for each of its parameters."""

import inspect
import linecache
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import MDAnalysis
import numpy as np

import mdreel
from mdreel.errors import MdreelError
from peptide_groups import backbone, fours
from peptide_system import System, peptide, write_peptide
from users_code import Spread, spread

N_FRAMES = 4
SECONDS = 5.0
"""Longest time of a call."""


@dataclass
class Call:
    """A callable with valid arguments, and what to do with its result."""

    function: Callable[..., Any]
    arguments: dict[str, Any] = field(default_factory=dict)
    then: Callable[[Any], Any] = lambda result: result
    valid: tuple[str, ...] = ()
    """Names of values that are valid, and for which the call takes long."""


@cache
def system(folder: Path) -> System:
    """A peptide with a short trajectory."""
    path = folder / "peptide.xtc"
    write_peptide(path, N_FRAMES)
    universe = peptide()
    universe.load_new(str(path))
    return System(universe, path)


def wrong_values(s: System) -> dict[str, Any]:
    """Values that few parameters accept, by name."""
    return {
        "None": None,
        "empty text": "",
        "text": "abc",
        "bytes": b"x",
        "1.5": 1.5,
        "-1": -1,
        "0": 0,
        "10**12": 10**12,
        "10**30": 10**30,
        "-10**30": -(10**30),
        "10**400": 10**400,
        "nan": np.nan,
        "inf": np.inf,
        "-inf": -np.inf,
        "complex": 1j,
        "True": True,
        "list": [],
        "dict": {},
        "tuple": (),
        "list of text": ["abc"],
        "list of empty text": [""],
        "list of None": [None],
        "list of numbers": [1, 2],
        "list of lists": [[1], [2, 3]],
        "pair of objects": (object(), object()),
        "dict of objects": {"abc": object()},
        "dict by object": {1: 2},
        "object": object(),
        "function": lambda: None,
        "class": int,
        "Universe": s.universe,
        "no atoms": s.universe.atoms[:0],
        "other atoms": MDAnalysis.Universe.empty(3, trajectory=True).atoms,
        "array of a wrong shape": np.zeros((2, 5, 7)),
        "array of text": np.array(["a", "b"]),
        "array of nan": np.full(3, np.nan),
        "array of objects": np.array([None, object()], object),
        "empty array": np.zeros(0),
        "number as an array": np.array(3.0),
        "path": Path("missing/abc"),
        "set": {1},
        "generator": (i for i in range(2)),
    }


def calls(s: System) -> dict[str, Call]:
    """Public callables by name."""
    u, xtc = s.universe, str(s.trajectory)
    ca, ag = u.select_atoms("name CA"), u.atoms
    protein = u.select_atoms("resid 2:13")

    def analysis(kind: Callable[..., Any], **arguments: Any) -> Call:
        return Call(kind, arguments, lambda made: made.run(backend="serial"))

    ran = mdreel.RMSD(ca).run()
    pca = mdreel.PCA(u, "name CA").run()
    bonds = mdreel.HydrogenBondAnalysis(u).run()
    rdf_s = mdreel.InterRDF_s(u, [(ca, ca)]).run()
    msd = mdreel.EinsteinMSD(u, "name CA").run()
    clusters = mdreel.analysis.GromosClustering(u, "name CA").run()
    tree = mdreel.analysis.HierarchicalClustering(u, "name CA", n_clusters=2).run()
    dense = mdreel.analysis.DensityClustering(u, "name CA", min_frames=1).run()
    means = mdreel.analysis.KMeansClustering(u, "name CA", n_clusters=2).run()
    picked = mdreel.analysis.KMedoidsClustering(u, "name CA", n_clusters=2).run()
    online = mdreel.analysis.OnlineClustering(u, "name CA").run()
    motion = mdreel.analysis.CrossCorrelation(u, "name CA", False, True, trajectory=[xtc, xtc]).run()
    touching = mdreel.ResidueContacts(u).run()
    local = mdreel.analysis.LDDT(u, select="name CA").run()
    prints = mdreel.analysis.InteractionFingerprint(u, atom_indices=True).run()
    staying = mdreel.analysis.SurvivalProbability(u, "name C* and around 4 name O", 2).run()
    turning = mdreel.analysis.WaterOrientationalRelaxation(u, "name CA", 2, molecules=backbone(s)).run()
    bridges = mdreel.analysis.WaterBridgeAnalysis(u, "resid 1:5", "resid 9:14", "resid 6:8").run()
    shell = mdreel.Selection(u, "name C* and around 4 name O").run()
    rama = mdreel.Ramachandran(protein).run()
    janin = mdreel.Janin(u.select_atoms("resname ARG ILE LEU")).run()
    average = mdreel.AverageStructure(u).run()
    align = mdreel.AlignTraj(u, u, "name CA", filename="aligned.dcd")
    t, transformations = mdreel.trajectory, mdreel.transformations
    result = {
        "AlignTraj": analysis(mdreel.AlignTraj, mobile=u, reference=u, filename="aligned.dcd"),
        "AnalysisBase": analysis(Spread, atomgroup=ca),
        "AverageStructure": analysis(mdreel.AverageStructure, mobile=u, reference=u),
        "Contacts": analysis(
            mdreel.Contacts, u=u, select=("name CA", "name O"), refgroup=(ca, u.select_atoms("name O"))
        ),
        "DSSP": analysis(mdreel.DSSP, atoms=u),
        "DensityAnalysis": analysis(mdreel.DensityAnalysis, atomgroup=ca),
        "DensityAnalysis, box": analysis(
            mdreel.DensityAnalysis, atomgroup=ca, gridcenter=[10, 10, 10], xdim=5.0, ydim=5.0, zdim=5.0
        ),
        "Dihedral": analysis(mdreel.Dihedral, atomgroups=fours(s)),
        "Dihedrals": analysis(mdreel.Dihedrals, atomgroup=ag),
        "DistanceArray": analysis(mdreel.DistanceArray, atomgroup=ca, other=u.select_atoms("name O")),
        "DistanceMatrix": analysis(mdreel.DistanceMatrix, universe=u, select="name CA"),
        "CrossCorrelation": analysis(mdreel.analysis.CrossCorrelation, universe=u, select="name CA"),
        "CrossCorrelation.edge_list": Call(motion.edge_list),
        "CrossCorrelation.pair_columns": Call(motion.pair_columns),
        "CrossCorrelation.plot_generalized": Call(motion.plot_generalized),
        "LDDT": analysis(mdreel.analysis.LDDT, atomgroup=u, reference=u, select="name CA"),
        "LDDT.plot_residues": Call(local.plot_residues),
        "NativeContacts": analysis(mdreel.analysis.NativeContacts, atomgroup=u, reference=u),
        "ResidueRMSD": analysis(mdreel.analysis.ResidueRMSD, atomgroup=u, reference=u),
        "SymmetricRMSD": analysis(
            mdreel.analysis.SymmetricRMSD, atomgroup=u, reference=u, select="resid 3 and not name H*"
        ),
        "TMScore": analysis(mdreel.analysis.TMScore, atomgroup=u, reference=u),
        "DensityClustering": analysis(mdreel.analysis.DensityClustering, universe=u, select="name CA"),
        "DensityClustering.save_structures": Call(dense.save_structures, {"path": "dense.pdb", "force": True}),
        "OnlineClustering": analysis(mdreel.analysis.OnlineClustering, universe=u, select="name CA"),
        "OnlineClustering.save_structures": Call(online.save_structures, {"path": "online.pdb", "force": True}),
        "HierarchicalClustering": analysis(
            mdreel.analysis.HierarchicalClustering, universe=u, select="name CA", n_clusters=2
        ),
        "HierarchicalClustering.save_structures": Call(tree.save_structures, {"path": "tree.pdb", "force": True}),
        "KMeansClustering": analysis(mdreel.analysis.KMeansClustering, universe=u, select="name CA", n_clusters=2),
        "KMeansClustering.save_structures": Call(means.save_structures, {"path": "means.pdb", "force": True}),
        "KMedoidsClustering": analysis(mdreel.analysis.KMedoidsClustering, universe=u, select="name CA", n_clusters=2),
        "KMedoidsClustering.save_structures": Call(picked.save_structures, {"path": "picked.pdb", "force": True}),
        "GromosClustering": analysis(mdreel.analysis.GromosClustering, universe=u, select="name CA"),
        "GromosClustering.save_structures": Call(clusters.save_structures, {"path": "centers.pdb", "force": True}),
        "EinsteinMSD": analysis(mdreel.EinsteinMSD, u=u, select="name CA"),
        "EndToEnd": analysis(mdreel.EndToEnd, chains=[ca, ag]),
        "HelixEigenvalues": analysis(
            mdreel.HelixEigenvalues, segments=[u.select_atoms("resid 1:4"), u.select_atoms("resid 5:8")]
        ),
        "HydrogenBondAnalysis": analysis(mdreel.HydrogenBondAnalysis, universe=u),
        "InteractionFingerprint": analysis(
            mdreel.analysis.InteractionFingerprint, atomgroup=u, parameters={"Hydrophobic": {"distance": 4.0}}
        ),
        "InteractionFingerprint.edge_list": Call(prints.edge_list),
        "InteractionFingerprint.matrix": Call(prints.matrix),
        "InteractionFingerprint.occurrences_in": Call(prints.occurrences_in, {"i": 0}),
        "InteractionFingerprint.plot_network": Call(prints.plot_network),
        "InteractionFingerprint.tanimoto": Call(prints.tanimoto),
        "InteractionFingerprint.to_bitvectors": Call(prints.to_bitvectors),
        "WaterBridgeAnalysis": analysis(mdreel.analysis.WaterBridgeAnalysis, universe=u),
        "WaterBridgeAnalysis.count_by_time": Call(bridges.count_by_time),
        "WaterBridgeAnalysis.count_by_type": Call(bridges.count_by_type),
        "WaterBridgeAnalysis.generate_table": Call(bridges.generate_table),
        "WaterBridgeAnalysis.timesteps_by_type": Call(bridges.timesteps_by_type),
        "InterRDF": analysis(mdreel.InterRDF, g1=ca, g2=ca),
        "InterRDF_s": analysis(mdreel.InterRDF_s, u=u, ags=[(ca, ca)]),
        "Janin": analysis(mdreel.Janin, atomgroup=u.select_atoms("resname ARG ILE LEU")),
        "LinearDensity": analysis(mdreel.LinearDensity, select=ca),
        "PCA": Call(mdreel.PCA, {"universe": ca}, lambda made: made.run(backend="serial"), valid=("Universe",)),
        "RMSD": analysis(mdreel.RMSD, atomgroup=ca, groupselections=["name O"]),
        "RMSF": analysis(mdreel.RMSF, atomgroup=ca),
        "Ramachandran": analysis(mdreel.Ramachandran, atomgroup=protein),
        "ResidueContacts": analysis(mdreel.ResidueContacts, atomgroup=u),
        "ResidueContacts, pairs": analysis(mdreel.ResidueContacts, atomgroup=u, pairs=[[0, 5], [3, 9]]),
        "ResidueContacts.contact_map": Call(touching.contact_map),
        "ResidueContacts.contacts_in": Call(touching.contacts_in, {"i": 0}),
        "ResidueContacts.difference": Call(touching.difference, {"other": touching}),
        "ResidueContacts.edge_list": Call(touching.edge_list),
        "ResidueContacts.plot_difference": Call(touching.plot_difference, {"other": touching}),
        "ResidueContacts.stays": Call(touching.stays),
        "Rg": analysis(mdreel.Rg, atomgroup=ca),
        "SASA": analysis(mdreel.SASA, atomgroup=ca, n_sphere_points=10),
        "SurvivalProbability": analysis(
            mdreel.analysis.SurvivalProbability, universe=u, select="name C* and around 4 name O", tau_max=2
        ),
        "SurvivalProbability.residence_time": Call(staying.residence_time),
        "WaterOrientationalRelaxation": analysis(
            mdreel.analysis.WaterOrientationalRelaxation,
            universe=u,
            select="name CA",
            tau_max=2,
            molecules=backbone(s),
        ),
        "WaterOrientationalRelaxation.relaxation_time": Call(turning.relaxation_time),
        "Selection": analysis(mdreel.Selection, atomgroup=u, select="name C* and around 4 name O"),
        "Selection.atoms_in": Call(shell.atoms_in, {"i": 0}),
        "Selection.survival": Call(shell.survival, {"tau_max": 2}),
        "Selection.plot_survival": Call(shell.plot_survival, {"tau_max": 2}),
        "Selection.residence_times": Call(shell.residence_times),
        "from_function": analysis(mdreel.from_function, f=spread, atomgroup=ca),
        "from_function, histogram": analysis(
            mdreel.from_function, f=spread, atomgroup=ca, reduce="histogram", bins=3, range=(0.0, 30.0)
        ),
        "analysis.Reducer": Call(mdreel.analysis.Reducer, {"merge": lambda a, b: a + b}),
        "Dask": Call(mdreel.Dask),
        "Mpi": Call(mdreel.Mpi),
        "Processes": Call(mdreel.Processes),
        "Threads": Call(mdreel.Threads),
        "run": Call(mdreel.run, {"analyses": [mdreel.RMSD(ca), mdreel.Rg(ca)], "backend": "serial"}),
        "RMSD.run": Call(ran.run, {"backend": "serial"}),
        "AnalysisBase.run": Call(Spread(ca).run, {"backend": "serial"}),
        "AlignTraj.run": Call(align.run, {"backend": "serial"}),
        "RMSD.set_trajectory": Call(lambda trajectory: mdreel.RMSD(ca).set_trajectory(trajectory), {"trajectory": xtc}),
        "RMSD.plot": Call(ran.plot),
        "Ramachandran.plot": Call(rama.plot),
        "Ramachandran.plot_distribution": Call(rama.plot_distribution),
        "Janin.plot": Call(janin.plot),
        "AverageStructure.save": Call(average.save, {"path": "average.pdb", "force": True}),
        "AverageStructure.save_structure": Call(average.save_structure, {"path": "average.pdb", "force": True}),
        "Ramachandran.draw_points": Call(rama.draw_points, {"title": "phi and psi"}),
        "RMSD.save": Call(ran.save, {"path": "rmsd.csv", "force": True}),
        "RMSD.report": Call(ran.report, {"path": "rmsd.html", "force": True, "others": [ran]}),
        "EinsteinMSD.diffusion": Call(msd.diffusion, {"begin": 0.0, "end": 3.0}),
        "HydrogenBondAnalysis.guess_acceptors": Call(bonds.guess_acceptors),
        "HydrogenBondAnalysis.guess_donors": Call(bonds.guess_donors),
        "HydrogenBondAnalysis.guess_hydrogens": Call(bonds.guess_hydrogens),
        "HydrogenBondAnalysis.lifetime": Call(bonds.lifetime, {"tau_max": 2}),
        "HydrogenBondAnalysis.plot_lifetime": Call(bonds.plot_lifetime, {"tau_max": 2}),
        "InterRDF_s.get_cdf": Call(rdf_s.get_cdf),
        "PCA.cumulative_overlap": Call(pca.cumulative_overlap, {"other": pca}),
        "PCA.rmsip": Call(pca.rmsip, {"other": pca}),
        "PCA.project_single_frame": Call(
            pca.project_single_frame, {"components": [0], "group": u.select_atoms("name CA C"), "anchor": "name CA"}
        ),
        "PCA.projection": Call(pca.projection, {"atomgroup": ca}, lambda made: made.run(backend="serial")),
        "PCA.transform": Call(pca.transform, {"atomgroup": ca}),
        "open": Call(mdreel.open, {"paths": xtc}),
        "trajectory.follow": Call(mdreel.trajectory.follow, {"path": xtc, "n_frames": N_FRAMES, "timeout": 1.0}),
        "read": Call(mdreel.read, {"trajectory": u}),
        "iread": Call(mdreel.iread, {"trajectory": u}, list),
        "trajectory.check": Call(t.check, {"path": xtc}),
        "trajectory.concat": Call(t.concat, {"paths": [xtc, xtc], "output": "out.xtc", "force": True}),
        "trajectory.convert": Call(t.convert, {"trajectory": xtc, "output": "out.xtc", "force": True}),
        "trajectory.info": Call(t.info, {"trajectory": xtc}),
        "trajectory.repack": Call(t.repack, {"trajectory": xtc, "output": "out.h5md", "force": True}),
        "trajectory.split": Call(t.split, {"trajectory": xtc, "output": "part{}.xtc", "n_parts": 2, "force": True}),
        "trajectory.source_of": Call(t.source_of, {"universe": u}),
        "trajectory.RemoteFile": Call(
            t.RemoteFile, {"url": "http://localhost/abc.xtc"}, valid=("None", "dict", "dict of objects")
        ),
        "analysis.autocorrelation": Call(mdreel.analysis.autocorrelation, {"timeseries": np.arange(9.0)}),
        "analysis.statistical_inefficiency": Call(
            mdreel.analysis.statistical_inefficiency, {"timeseries": np.arange(9.0)}
        ),
        "analysis.block_averages": Call(mdreel.analysis.block_averages, {"timeseries": np.arange(9.0)}),
        "mdanalysis.backend": Call(mdreel.mdanalysis.backend, {"name": "threads"}),
    }
    for name, arguments in {
        "unwrap": {"atomgroup": ag},
        "wrap": {"atomgroup": ag},
        "center_in_box": {"atomgroup": ag},
        "fit_rot_trans": {"atomgroup": ca, "reference": ca},
        "nojump": {},
    }.items():
        result[f"transformations.{name}"] = Call(
            getattr(transformations, name),
            arguments,
            lambda made: mdreel.RMSD(ca).run(backend="serial", transformations=[made]),
        )
    return result


def parameters(function: Callable[..., Any]) -> list[str]:
    """Names of the parameters that can be given by name."""
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one.name for one in inspect.signature(function).parameters.values() if one.kind in kinds]


class TooLong(BaseException):
    """A call did not return in time."""


@contextmanager
def deadline() -> Iterator[None]:
    """Raise `TooLong` if the block takes longer than `SECONDS`."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def is_clear(error: BaseException, parameter: str) -> bool:
    """Whether an error is one of mdreel, or of the operating system, or raised by mdreel with the parameter's name."""
    if isinstance(error, MdreelError | OSError) or hasattr(error, "__notes__"):
        return True  # notes say where a function of the user has failed
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not isinstance(error, TypeError | ValueError):
        return False
    code = trace.tb_frame.f_code
    line = linecache.getline(code.co_filename, trace.tb_lineno).strip()
    return "/mdreel/" in code.co_filename and line.startswith("raise") and parameter in str(error)


def unclear_errors(call: Call, parameter: str, values: dict[str, Any]) -> dict[str, BaseException]:
    """Errors that do not tell a user what is wrong, by the name of the value."""
    found: dict[str, BaseException] = {}
    for name, value in values.items():
        if name in call.valid:
            continue
        try:
            with deadline(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call.then(call.function(**call.arguments | {parameter: value}))
        except BaseException as error:  # noqa: BLE001 (all that reaches a user)
            if not is_clear(error, parameter):
                found[name] = error
    return found
