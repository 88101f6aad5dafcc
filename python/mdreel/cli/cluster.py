"""``mdreel cluster``: batch scripts that run an analysis on several nodes of a cluster."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdreel.cli import options
from mdreel.cli.exits import ExitCode, checking_output, failing_with
from mdreel.cli.say import say, say_script
from mdreel.cli.sections import SectionedCommand
from mdreel.cli.submitted import parse_submitted

if TYPE_CHECKING:
    from mdreel.cluster.batch_job import BatchJob

SLURM_EXAMPLES = """\b
Examples:
  mdreel cluster slurm --nodes 2 --ntasks-per-node 64 --time 04:00:00 -o rmsd.sh \\
      -- mdreel rmsd -s adk.psf -f adk.xtc -o rmsd.csv
  sbatch rmsd.sh
"""
PBS_EXAMPLES = """\b
Examples:
  mdreel cluster pbs --nodes 2 --ntasks-per-node 64 --time 04:00:00 -o rmsd.sh \\
      -- mdreel rmsd -s adk.psf -f adk.xtc -o rmsd.csv
  qsub rmsd.sh
"""

JOB = "Job"
ENVIRONMENT = "Environment"

cluster = typer.Typer(rich_markup_mode=None)


class ScriptCommand(SectionedCommand):
    """A command that is given another one, behind ``--``, as what is for one looks like what is for the other."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Say how the other command is given."""
        return ["[OPTIONS] -- mdreel ANALYSIS [OPTIONS]"]


class Launcher(StrEnum):
    """Who starts the ranks."""

    PMIX = "pmix"
    PMI2 = "pmi2"
    MPIRUN = "mpirun"


Command = Annotated[list[str], typer.Argument(hidden=True)]
Nodes = Annotated[int, typer.Option("--nodes", metavar="N", min=1, rich_help_panel=JOB, help="Number of nodes.")]
Ranks = Annotated[
    int,
    typer.Option(
        "--ntasks-per-node", metavar="N", min=1, rich_help_panel=JOB, help="Ranks on each node: one for each core."
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="HH:MM:SS",
        rich_help_panel=JOB,
        help="How long the job may take, also D-HH:MM:SS; what is not finished by then goes on in a next one.",
    ),
]
Account = Annotated[str | None, typer.Option("--account", metavar="NAME", rich_help_panel=JOB, help="Who pays.")]
Memory = Annotated[
    str | None, typer.Option("--mem", metavar="SIZE", rich_help_panel=JOB, help="Memory of each node, such as 16G.")
]
JobName = Annotated[
    str | None,
    typer.Option(
        "--job-name", metavar="NAME", rich_help_panel=JOB, help="What the job is called.  [default: mdreel-ANALYSIS]"
    ),
]
Modules = Annotated[
    list[str] | None,
    typer.Option(
        "--module",
        metavar="NAME",
        rich_help_panel=ENVIRONMENT,
        help="Environment module to load, such as that of the site's MPI; give it again for more.",
    ),
]
Environment = Annotated[
    str | None,
    typer.Option(
        "--environment",
        metavar="ENVIRONMENT",
        rich_help_panel=ENVIRONMENT,
        help="Folder of a virtual environment, or folder or name of one of conda.  [default: the one of this mdreel]",
    ),
]
Script = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output-script",
        metavar="FILE",
        rich_help_panel=options.OUTPUT,
        help="Script to write.  [default: standard output]",
    ),
]


@cluster.callback(epilog=SLURM_EXAMPLES)
def _cluster() -> None:
    """Write a batch script that runs an analysis on several nodes of a cluster."""


@cluster.command(cls=ScriptCommand, short_help="A batch script for Slurm.", epilog=SLURM_EXAMPLES)
def slurm(
    context: typer.Context,
    command: Command,
    nodes: Nodes,
    ntasks_per_node: Ranks,
    time: Time = None,
    account: Account = None,
    partition: Annotated[
        str | None,
        typer.Option("--partition", metavar="NAME", rich_help_panel=JOB, help="Partition in which the job waits."),
    ] = None,
    memory: Memory = None,
    job_name: JobName = None,
    launcher: Annotated[
        Launcher,
        typer.Option(
            "--launcher",
            rich_help_panel=JOB,
            help="Who starts the ranks: srun, by PMIx (Open MPI) or PMI-2 (MPICH, Intel MPI), or mpirun.",
        ),
    ] = Launcher.PMIX,
    modules: Modules = None,
    environment: Environment = None,
    output_script: Script = None,
    force: options.Force = False,
) -> None:
    """Write a batch script for Slurm, which runs an analysis with one MPI rank on each core.

    The job has a checkpoint, and goes on where it was: when its time is over, a node fails, or it is submitted again.
    """
    from mdreel.cluster import slurm as slurm_scripts

    job = _job(
        context, command, nodes, ntasks_per_node, time, account, partition, memory, job_name, modules, environment
    )
    text = slurm_scripts.slurm_script(
        job, slurm_scripts.Launcher(launcher.value), None if output_script is None else str(output_script)
    )
    write_script(text, output_script, force, "sbatch")


@cluster.command(cls=ScriptCommand, short_help="A batch script for PBS Pro and OpenPBS.", epilog=PBS_EXAMPLES)
def pbs(
    context: typer.Context,
    command: Command,
    nodes: Nodes,
    ntasks_per_node: Ranks,
    time: Time = None,
    account: Account = None,
    queue: Annotated[
        str | None, typer.Option("--queue", metavar="NAME", rich_help_panel=JOB, help="Queue in which the job waits.")
    ] = None,
    memory: Memory = None,
    job_name: JobName = None,
    modules: Modules = None,
    environment: Environment = None,
    output_script: Script = None,
    force: options.Force = False,
) -> None:
    """Write a batch script for PBS Pro or OpenPBS, which runs an analysis with one MPI rank on each core.

    The job has a checkpoint, and goes on where it was: when a node fails, or it is submitted again, which it does by
    itself before its time is over if --time and --output-script are given.
    """
    from mdreel.cluster.pbs import pbs_script

    job = _job(context, command, nodes, ntasks_per_node, time, account, queue, memory, job_name, modules, environment)
    write_script(pbs_script(job, output_script and output_script.absolute()), output_script, force, "qsub")


def _job(
    context: typer.Context,
    command: list[str],
    nodes: int,
    ntasks_per_node: int,
    time: str | None,
    account: str | None,
    queue: str | None,
    memory: str | None,
    job_name: str | None,
    modules: list[str] | None,
    environment: str | None,
) -> "BatchJob":
    """Check what was asked for, and put it together."""
    from mdreel.cluster.batch_job import BatchJob, seconds_of
    from mdreel.cluster.shell import activation_of, own_environment

    submitted = parse_submitted(context, command, nodes * ntasks_per_node)
    environment = environment or own_environment()
    with failing_with(ExitCode.USAGE):
        return BatchJob(
            name=job_name or submitted.name,
            program=submitted.program,
            arguments=submitted.arguments,
            inputs=submitted.inputs,
            folders=submitted.folders,
            checkpoint=submitted.checkpoint,
            n_nodes=nodes,
            n_ranks_per_node=ntasks_per_node,
            seconds=None if time is None else seconds_of(time),
            memory=memory,
            account=account,
            queue=queue,
            modules=tuple(modules or ()),
            activation=() if environment is None else activation_of(environment),
        )


def write_script(text: str, file: Path | None, force: bool, submit: str) -> None:
    """Write a script, to a file that can be run, or to standard output; ``submit`` is the command that submits it."""
    if file is None:
        say_script(text)
        return
    from mdreel.foundation.atomic_files import check_target, replacing

    with checking_output(file):
        check_target(file, force)
    with failing_with(ExitCode.OUTPUT), replacing(file, force) as temporary:
        temporary.write_text(text, encoding="utf-8")
        mode = temporary.stat().st_mode
        temporary.chmod(mode | (mode & 0o444) >> 2)  # who may read it may run it
    say(f"{file}: submit it with  {submit} {file}", err=True)
