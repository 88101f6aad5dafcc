"""Settings of the runs, and the groups of runs that ranks do without a new start."""

from collections.abc import Iterator
from dataclasses import dataclass

SHARED, SEPARATE = "shared", "separate"
NETWORKS = (SHARED, SEPARATE)
"""Whether messages of MPI use the link of the file system, or a link of their own with the same bandwidth."""

QUIET, BUSY = "none", "reader"
LOADS = (QUIET, BUSY)
"""Whether another job on the host of rank 0 reads a different file."""

ONE_FILE, SEGMENTS, DEFAULT = "one file", "file per rank", "default"
ACCESSES = (ONE_FILE, SEGMENTS, DEFAULT)
"""Equal shares of one file, a file for each rank, or the default of mdreel: blocks of one file on demand."""

OF_RMSD, OF_DIHEDRALS = "rmsd", "dihedrals"
"""Workloads: 3 numbers a frame, or the cosines and sines of all backbone dihedrals."""

MPICH, OPEN_MPI = "MPICH", "Open MPI"
TRANSFERS = {MPICH: ("gather", "window"), OPEN_MPI: ("gather", "global-arrays")}
"""How results come to rank 0. Global Arrays are built for Open MPI, so its gather is measured beside them."""


@dataclass(frozen=True)
class Setting:
    """One way of running; the fields have the values of the constants above."""

    mpi: str
    network: str
    workload: str
    access: str
    transfer: str
    load: str


@dataclass(frozen=True)
class Start:
    """Runs of ranks that are started once."""

    mpi: str
    network: str
    runs: tuple[Setting, ...]


def starts(mpis: tuple[str, ...] = (MPICH, OPEN_MPI)) -> Iterator[Start]:
    """Yield all settings, by start. Large results are measured for the default access only."""
    for mpi in mpis:
        for network in NETWORKS:
            runs = tuple(
                Setting(mpi, network, workload, access, transfer, load)
                for load in LOADS
                for workload, accesses in ((OF_RMSD, ACCESSES), (OF_DIHEDRALS, (DEFAULT,)))
                for access in accesses
                for transfer in TRANSFERS[mpi]
            )
            yield Start(mpi, network, runs)
