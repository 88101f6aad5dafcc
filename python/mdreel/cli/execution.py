"""Who runs an analysis, and how: options that all analyses share."""

from __future__ import annotations

import logging
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mdreel.cli import options
from mdreel.cli.exits import CommandError, ExitCode
from mdreel.errors import MdreelError
from mdreel.execution.executors.mpi.launcher import launched

if TYPE_CHECKING:
    from mdreel.execution.executors.executor import Executor


class Backend(StrEnum):
    """Who runs the blocks."""

    SERIAL = "serial"
    THREADS = "threads"
    PROCESSES = "processes"
    DASK = "dask"
    MPI = "mpi"


class Access(StrEnum):
    """How workers come to the bytes."""

    SHARED = "shared"
    CHAIN = "chain"
    SEGMENTS = "segments"
    HDF5_INDEPENDENT = "hdf5-independent"
    HDF5_COLLECTIVE = "hdf5-collective"


class Communication(StrEnum):
    """How results come to rank 0."""

    GATHER = "gather"
    WINDOW = "window"
    GLOBAL_ARRAYS = "global-arrays"


class Schedule(StrEnum):
    """Who takes which block."""

    DEMAND = "demand"
    STATIC = "static"


BackendOption = Annotated[
    Backend | None,
    typer.Option(
        "--backend",
        rich_help_panel=options.EXECUTION,
        help="Who runs the blocks.  [default: mpi under mpirun, else threads]",
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        "-nt",
        "--n-workers",
        metavar="N",
        min=0,
        rich_help_panel=options.EXECUTION,
        help="Number of threads or processes; 0 for one on each core.",
    ),
]
ScheduleOption = Annotated[
    Schedule,
    typer.Option(
        "--schedule",
        rich_help_panel=options.EXECUTION,
        help="Blocks go to whoever is free, or each worker has one share of all.",
    ),
]
AccessOption = Annotated[
    Access | None,
    typer.Option(
        "--access",
        rich_help_panel=options.EXECUTION,
        help="All read one file; or several as one; or several of which each block lies in one; "
        "or, for mpi, parallel HDF5, each rank on its own or all at once.  [default: shared, or chain]",
    ),
]
CommunicationOption = Annotated[
    Communication | None,
    typer.Option(
        "--communication",
        rich_help_panel=options.EXECUTION,
        help="For mpi: results are gathered at the end, or put into an array as they are made: of rank 0, or spread "
        "over all ranks by the Global Arrays toolkit.  [default: window on one node, gather on several]",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        rich_help_panel=options.EXECUTION,
        help="For dask: a scheduler that runs, such as tcp://10.0.0.1:8786.  [default: a cluster on this machine]",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        rich_help_panel=options.EXECUTION,
        help="What all processes together may take, such as 2G; less than is needed is refused.",
    ),
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        rich_help_panel=options.EXECUTION,
        help="Keep here what is finished: the same command goes on after a kill. Removed at the end.",
    ),
]


def executor_of(
    backend: Backend | None,
    n_workers: int,
    schedule: Schedule,
    communication: Communication | None,
    scheduler: str | None,
) -> Executor:
    """Return the executor that the options ask for."""
    from mdreel.execution.executors.resolve_executor import executor_class

    ranks = launched()
    backend = backend or (Backend.MPI if ranks is not None and ranks.size > 1 else Backend.THREADS)
    if scheduler is not None and backend is not Backend.DASK:
        raise CommandError("--scheduler is for --backend dask", ExitCode.USAGE)
    if communication is not None and backend is not Backend.MPI:
        raise CommandError("--communication is for --backend mpi", ExitCode.USAGE)
    options: dict[str, str] = {}
    if backend is Backend.DASK:
        logging.disable()  # Dask logs the tracebacks of what becomes an error in one line
        if scheduler is not None:
            options["client"] = scheduler
    if communication is not None:
        options["communication"] = communication.value
    workers = None if backend is Backend.SERIAL else n_workers or None
    return executor_class(backend.value)(workers, schedule.value, **options)


def serve_other_ranks() -> None:
    """Where this is one of several ranks but the first, work for that one, and leave with it; return otherwise."""
    ranks = launched()
    if ranks is not None and ranks.size > 1 and ranks.rank > 0:
        from mdreel.execution.executors.mpi.executor import Mpi

        Mpi().serve()


def dismiss_other_ranks(code: int) -> None:
    """Where this is the first of several ranks, have the others leave."""
    ranks = launched()
    if ranks is not None and ranks.size > 1:
        from mdreel.execution.executors.mpi.executor import Mpi

        with suppress(MdreelError):  # that there is no MPI was said before
            Mpi().leave(code)
