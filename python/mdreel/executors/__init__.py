"""Executors: who runs the blocks."""

from mdreel.executors.dask import Dask
from mdreel.executors.executor import Executor
from mdreel.executors.find import EXECUTORS, find_executor
from mdreel.executors.job import Job, Outcome
from mdreel.executors.mpi import Mpi
from mdreel.executors.processes import Processes
from mdreel.executors.serial import Serial
from mdreel.executors.threads import Threads
from mdreel.executors.work import Work

__all__ = [
    "EXECUTORS",
    "Dask",
    "Executor",
    "Job",
    "Mpi",
    "Outcome",
    "Processes",
    "Serial",
    "Threads",
    "Work",
    "find_executor",
]
