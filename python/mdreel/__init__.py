"""Parallel analysis of molecular dynamics trajectories, as fast as the hardware allows."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mdreel.analysis.average import AverageStructure
    from mdreel.analysis.base import AnalysisBase
    from mdreel.analysis.contacts import Contacts
    from mdreel.analysis.correlation import autocorrelation, block_averages, statistical_inefficiency
    from mdreel.analysis.density import DensityAnalysis
    from mdreel.analysis.dihedrals import Dihedral, Dihedrals, Ramachandran
    from mdreel.analysis.distance_matrix import DistanceMatrix
    from mdreel.analysis.distances import DistanceArray
    from mdreel.analysis.dssp import DSSP
    from mdreel.analysis.end_to_end import EndToEnd
    from mdreel.analysis.function import from_function
    from mdreel.analysis.helices import HelixEigenvalues
    from mdreel.analysis.hydrogen_bonds import HydrogenBondAnalysis
    from mdreel.analysis.linear_density import LinearDensity
    from mdreel.analysis.live import live
    from mdreel.analysis.msd import EinsteinMSD
    from mdreel.analysis.one_pass import run
    from mdreel.analysis.pca import PCA
    from mdreel.analysis.rdf import InterRDF, InterRDF_s
    from mdreel.analysis.reducers import Reducer
    from mdreel.analysis.rg import Rg
    from mdreel.analysis.rmsd import RMSD
    from mdreel.analysis.rmsf import RMSF
    from mdreel.analysis.sasa import SASA
    from mdreel.analysis.transformations import center_in_box, fit_rot_trans, nojump, unwrap, wrap
    from mdreel.archives.archive import archive
    from mdreel.errors import BrokenMoleculeWarning, JumpWarning, UnitWarning
    from mdreel.executors.dask import Dask
    from mdreel.executors.mpi import Mpi
    from mdreel.executors.processes import Processes
    from mdreel.executors.serial import Serial
    from mdreel.executors.threads import Threads
    from mdreel.insitu.archive import Archive
    from mdreel.insitu.channel import channel
    from mdreel.insitu.consumer import Consumer
    from mdreel.insitu.imd.feed import Engine
    from mdreel.insitu.imd.hub import Hub
    from mdreel.insitu.lammps import LAMMPSReporter
    from mdreel.insitu.managed import ManagedDirectory
    from mdreel.insitu.nodes.relay import Relay, relay
    from mdreel.insitu.nodes.security import Security
    from mdreel.insitu.nodes.server import Server, serve
    from mdreel.insitu.openmm import OpenMMReporter, fork_openmm
    from mdreel.insitu.producer import Producer
    from mdreel.insitu.producing import Producing
    from mdreel.insitu.staging import Staging
    from mdreel.insitu.status import channels
    from mdreel.mdanalysis.accelerate import accelerate, unaccelerate
    from mdreel.mdanalysis.backend import backend
    from mdreel.sources.follow import follow
    from mdreel.sources.open import open_source
    from mdreel.storage.align import AlignTraj

__all__ = [
    "DSSP",
    "PCA",
    "RMSD",
    "RMSF",
    "SASA",
    "AlignTraj",
    "AnalysisBase",
    "Archive",
    "AverageStructure",
    "BrokenMoleculeWarning",
    "Consumer",
    "Contacts",
    "Dask",
    "DensityAnalysis",
    "Dihedral",
    "Dihedrals",
    "DistanceArray",
    "DistanceMatrix",
    "EinsteinMSD",
    "EndToEnd",
    "Engine",
    "HelixEigenvalues",
    "Hub",
    "HydrogenBondAnalysis",
    "InterRDF",
    "InterRDF_s",
    "JumpWarning",
    "LAMMPSReporter",
    "LinearDensity",
    "ManagedDirectory",
    "Mpi",
    "OpenMMReporter",
    "Processes",
    "Producer",
    "Producing",
    "Ramachandran",
    "Reducer",
    "Relay",
    "Rg",
    "Security",
    "Serial",
    "Server",
    "Staging",
    "Threads",
    "UnitWarning",
    "accelerate",
    "archive",
    "autocorrelation",
    "backend",
    "block_averages",
    "center_in_box",
    "channel",
    "channels",
    "fit_rot_trans",
    "follow",
    "fork_openmm",
    "from_function",
    "live",
    "nojump",
    "open_source",
    "relay",
    "run",
    "serve",
    "statistical_inefficiency",
    "unaccelerate",
    "unwrap",
    "wrap",
]

_HOMES = {
    "DSSP": "mdreel.analysis.dssp",
    "PCA": "mdreel.analysis.pca",
    "RMSD": "mdreel.analysis.rmsd",
    "RMSF": "mdreel.analysis.rmsf",
    "SASA": "mdreel.analysis.sasa",
    "Contacts": "mdreel.analysis.contacts",
    "AlignTraj": "mdreel.storage.align",
    "AnalysisBase": "mdreel.analysis.base",
    "Archive": "mdreel.insitu.archive",
    "AverageStructure": "mdreel.analysis.average",
    "BrokenMoleculeWarning": "mdreel.errors",
    "Consumer": "mdreel.insitu.consumer",
    "Dask": "mdreel.executors.dask",
    "DensityAnalysis": "mdreel.analysis.density",
    "Dihedral": "mdreel.analysis.dihedrals",
    "Dihedrals": "mdreel.analysis.dihedrals",
    "DistanceArray": "mdreel.analysis.distances",
    "DistanceMatrix": "mdreel.analysis.distance_matrix",
    "EinsteinMSD": "mdreel.analysis.msd",
    "EndToEnd": "mdreel.analysis.end_to_end",
    "Engine": "mdreel.insitu.imd.feed",
    "HelixEigenvalues": "mdreel.analysis.helices",
    "Hub": "mdreel.insitu.imd.hub",
    "HydrogenBondAnalysis": "mdreel.analysis.hydrogen_bonds",
    "InterRDF": "mdreel.analysis.rdf",
    "InterRDF_s": "mdreel.analysis.rdf",
    "JumpWarning": "mdreel.errors",
    "LinearDensity": "mdreel.analysis.linear_density",
    "LAMMPSReporter": "mdreel.insitu.lammps",
    "ManagedDirectory": "mdreel.insitu.managed",
    "Mpi": "mdreel.executors.mpi",
    "OpenMMReporter": "mdreel.insitu.openmm",
    "Processes": "mdreel.executors.processes",
    "Producer": "mdreel.insitu.producer",
    "Producing": "mdreel.insitu.producing",
    "Ramachandran": "mdreel.analysis.dihedrals",
    "Reducer": "mdreel.analysis.reducers",
    "Relay": "mdreel.insitu.nodes.relay",
    "Rg": "mdreel.analysis.rg",
    "Security": "mdreel.insitu.nodes.security",
    "Serial": "mdreel.executors.serial",
    "Server": "mdreel.insitu.nodes.server",
    "Staging": "mdreel.insitu.staging",
    "Threads": "mdreel.executors.threads",
    "UnitWarning": "mdreel.errors",
    "accelerate": "mdreel.mdanalysis.accelerate",
    "archive": "mdreel.archives.archive",
    "autocorrelation": "mdreel.analysis.correlation",
    "block_averages": "mdreel.analysis.correlation",
    "center_in_box": "mdreel.analysis.transformations",
    "channel": "mdreel.insitu.channel",
    "channels": "mdreel.insitu.status",
    "backend": "mdreel.mdanalysis.backend",
    "fit_rot_trans": "mdreel.analysis.transformations",
    "follow": "mdreel.sources.follow",
    "fork_openmm": "mdreel.insitu.openmm",
    "from_function": "mdreel.analysis.function",
    "live": "mdreel.analysis.live",
    "nojump": "mdreel.analysis.transformations",
    "open_source": "mdreel.sources.open",
    "relay": "mdreel.insitu.nodes.relay",
    "run": "mdreel.analysis.one_pass",
    "serve": "mdreel.insitu.nodes.server",
    "statistical_inefficiency": "mdreel.analysis.correlation",
    "unaccelerate": "mdreel.mdanalysis.accelerate",
    "unwrap": "mdreel.analysis.transformations",
    "wrap": "mdreel.analysis.transformations",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for: ``mdreel --help`` needs neither NumPy nor the core."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
