"""Parallel analysis of molecular dynamics trajectories, as fast as the hardware allows."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mdreel.analysis.rmsd import RMSD
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
    "Dask",
    "Mpi",
    "Processes",
    "Serial",
    "Threads",
    "accelerate",
    "follow",
    "open_source",
    "unaccelerate",
]

_HOMES = {
    "RMSD": "mdreel.analysis.rmsd",
    "Dask": "mdreel.executors.dask",
    "Mpi": "mdreel.executors.mpi",
    "Processes": "mdreel.executors.processes",
    "Serial": "mdreel.executors.serial",
    "Threads": "mdreel.executors.threads",
    "accelerate": "mdreel.mdanalysis.accelerate",
    "follow": "mdreel.sources.follow",
    "open_source": "mdreel.sources.open",
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
