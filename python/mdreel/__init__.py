"""Parallel analysis of molecular dynamics trajectories, as fast as the hardware allows."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mdreel.analysis.contacts import Contacts
    from mdreel.analysis.dihedrals import Dihedral, Dihedrals, Ramachandran
    from mdreel.analysis.distances import DistanceArray
    from mdreel.analysis.function import from_function
    from mdreel.analysis.helices import HelixEigenvalues
    from mdreel.analysis.hydrogen_bonds import HydrogenBondAnalysis
    from mdreel.analysis.one_pass import run
    from mdreel.analysis.rdf import InterRDF, InterRDF_s
    from mdreel.analysis.rg import Rg
    from mdreel.analysis.rmsd import RMSD
    from mdreel.analysis.rmsf import RMSF
    from mdreel.executors.dask import Dask
    from mdreel.executors.mpi import Mpi
    from mdreel.executors.processes import Processes
    from mdreel.executors.serial import Serial
    from mdreel.executors.threads import Threads
    from mdreel.mdanalysis.accelerate import accelerate, unaccelerate
    from mdreel.sources.follow import follow
    from mdreel.sources.open import open_source

__all__ = [
    "RMSD",
    "RMSF",
    "Contacts",
    "Dask",
    "Dihedral",
    "Dihedrals",
    "DistanceArray",
    "HelixEigenvalues",
    "HydrogenBondAnalysis",
    "InterRDF",
    "InterRDF_s",
    "Mpi",
    "Processes",
    "Ramachandran",
    "Rg",
    "Serial",
    "Threads",
    "accelerate",
    "follow",
    "from_function",
    "open_source",
    "run",
    "unaccelerate",
]

_HOMES = {
    "RMSD": "mdreel.analysis.rmsd",
    "RMSF": "mdreel.analysis.rmsf",
    "Contacts": "mdreel.analysis.contacts",
    "Dask": "mdreel.executors.dask",
    "Dihedral": "mdreel.analysis.dihedrals",
    "Dihedrals": "mdreel.analysis.dihedrals",
    "DistanceArray": "mdreel.analysis.distances",
    "HelixEigenvalues": "mdreel.analysis.helices",
    "HydrogenBondAnalysis": "mdreel.analysis.hydrogen_bonds",
    "InterRDF": "mdreel.analysis.rdf",
    "InterRDF_s": "mdreel.analysis.rdf",
    "Mpi": "mdreel.executors.mpi",
    "Processes": "mdreel.executors.processes",
    "Ramachandran": "mdreel.analysis.dihedrals",
    "Rg": "mdreel.analysis.rg",
    "Serial": "mdreel.executors.serial",
    "Threads": "mdreel.executors.threads",
    "accelerate": "mdreel.mdanalysis.accelerate",
    "follow": "mdreel.sources.follow",
    "from_function": "mdreel.analysis.function",
    "open_source": "mdreel.sources.open",
    "run": "mdreel.analysis.one_pass",
    "unaccelerate": "mdreel.mdanalysis.accelerate",
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
