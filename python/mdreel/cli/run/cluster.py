"""The command ``mdreel cluster``, which writes batch scripts to run an analysis on several nodes of a cluster."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from mdreel.cli.errors import ExitCode, checking_output, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, CommandGroup, Option
from mdreel.cli.output import echo, echo_script
from mdreel.cli.run.batch_command import parse_batch_command
from mdreel.cluster.slurm import Launcher

if TYPE_CHECKING:
    from mdreel.cluster.batch_job import BatchJob

SLURM_EXAMPLES = """\
Examples:
  mdreel cluster slurm --nodes 2 --ntasks-per-node 64 --time 04:00:00 -o rmsd.sh \\
      -- mdreel rmsd -s adk.psf -f adk.xtc -o rmsd.csv
  sbatch rmsd.sh
"""
PBS_EXAMPLES = """\
Examples:
  mdreel cluster pbs --nodes 2 --ntasks-per-node 64 --time 04:00:00 -o rmsd.sh \\
      -- mdreel rmsd -s adk.psf -f adk.xtc -o rmsd.csv
  qsub rmsd.sh
"""

JOB = "Job"
ENVIRONMENT = "Environment"

cluster = CommandGroup("cluster", "Write a batch script that runs an analysis on several nodes of a cluster.")
_USAGE = "[OPTIONS] -- mdreel ANALYSIS [OPTIONS]"


LAUNCHERS = tuple(one.value for one in Launcher)

Command = Annotated[list[str], Argument(is_hidden=True)]
Nodes = Annotated[int, Option("--nodes", metavar="N", minimum=1, group=JOB, help="Number of nodes.")]
Ranks = Annotated[
    int,
    Option("--ntasks-per-node", metavar="N", minimum=1, group=JOB, help="MPI ranks per node, usually one per core."),
]
Time = Annotated[
    str | None,
    Option(
        "--time",
        metavar="HH:MM:SS",
        group=JOB,
        help="Time limit of the job (also D-HH:MM:SS). If the run is unfinished, the next job continues it.",
    ),
]
Account = Annotated[str | None, Option("--account", metavar="NAME", group=JOB, help="Account to charge for the job.")]
Memory = Annotated[str | None, Option("--mem", metavar="SIZE", group=JOB, help="Memory per node, such as 16G.")]
JobName = Annotated[
    str | None, Option("--job-name", metavar="NAME", group=JOB, help="Name of the job.  [default: mdreel-ANALYSIS]")
]
StageInFolder = Annotated[
    str | None,
    Option(
        "--stage-in",
        metavar="FOLDER",
        group=JOB,
        help=(
            "Copy the trajectory to this folder of each node before the analysis. The folder can begin with a variable "
            "of the job, such as '$TMPDIR'. Of several files, a node copies only those that its ranks read."
        ),
    ),
]
Modules = Annotated[
    list[str] | None,
    Option(
        "--module",
        metavar="NAME",
        group=ENVIRONMENT,
        help="Environment module to load, such as the cluster's MPI. Can be repeated.",
    ),
]
Environment = Annotated[
    str | None,
    Option(
        "--environment",
        metavar="ENVIRONMENT",
        group=ENVIRONMENT,
        help="Virtual environment (folder) or conda environment (folder or name).  [default: the current one]",
    ),
]
Script = Annotated[
    Path | None,
    Option(
        "-o",
        "--output-script",
        metavar="FILE",
        group=shared.OUTPUT,
        help="Script to write.  [default: standard output]",
    ),
]


@cluster.add(summary="A batch script for Slurm.", usage=_USAGE, examples=SLURM_EXAMPLES)
def slurm(
    context: click.Context,
    command: Command,
    nodes: Nodes,
    ntasks_per_node: Ranks,
    time: Time = None,
    account: Account = None,
    partition: Annotated[str | None, Option(metavar="NAME", group=JOB, help="Partition to submit the job to.")] = None,
    memory: Memory = None,
    job_name: JobName = None,
    launcher: Annotated[
        str,
        Option(
            choices=LAUNCHERS,
            group=JOB,
            help="Launcher that starts the ranks: srun with PMIx (Open MPI) or PMI-2 (MPICH, Intel MPI), or mpirun.",
        ),
    ] = "pmix",
    stage_in: StageInFolder = None,
    modules: Modules = None,
    environment: Environment = None,
    output_script: Script = None,
    force: shared.Force = False,
) -> None:
    """Write a batch script for Slurm that runs an analysis with one MPI rank on each core.

    The job writes a checkpoint, from which it continues after its time limit, a node failure or a new submission.
    """
    from mdreel.cluster import slurm as slurm_scripts

    named = (time, account, partition, memory, job_name, stage_in)
    job = _job(context, command, nodes, ntasks_per_node, *named, modules, environment)
    text = slurm_scripts.slurm_script(
        job, slurm_scripts.Launcher(launcher), None if output_script is None else str(output_script)
    )
    write_script(text, output_script, force, "sbatch", job.inputs)


@cluster.add(summary="A batch script for PBS Pro and OpenPBS.", usage=_USAGE, examples=PBS_EXAMPLES)
def pbs(
    context: click.Context,
    command: Command,
    nodes: Nodes,
    ntasks_per_node: Ranks,
    time: Time = None,
    account: Account = None,
    queue: Annotated[str | None, Option(metavar="NAME", group=JOB, help="Queue to submit the job to.")] = None,
    memory: Memory = None,
    job_name: JobName = None,
    stage_in: StageInFolder = None,
    modules: Modules = None,
    environment: Environment = None,
    output_script: Script = None,
    force: shared.Force = False,
) -> None:
    """Write a batch script for PBS Pro or OpenPBS that runs an analysis with one MPI rank on each core.

    The job writes a checkpoint, from which it continues after a node failure or a new submission. With --time and
    --output-script, the job resubmits itself before its time limit.
    """
    from mdreel.cluster.pbs import pbs_script

    named = (time, account, queue, memory, job_name, stage_in)
    job = _job(context, command, nodes, ntasks_per_node, *named, modules, environment)
    text = pbs_script(job, output_script and output_script.absolute())
    write_script(text, output_script, force, "qsub", job.inputs)


def _job(
    context: click.Context,
    command: list[str],
    nodes: int,
    ntasks_per_node: int,
    time: str | None,
    account: str | None,
    queue: str | None,
    memory: str | None,
    job_name: str | None,
    stage_in: str | None,
    modules: list[str] | None,
    environment: str | None,
) -> "BatchJob":
    """Check the options and return the job."""
    from mdreel.cluster.batch_job import BatchJob, seconds_of
    from mdreel.cluster.shell import activation_of, own_environment

    batch = parse_batch_command(context, command, nodes * ntasks_per_node, nodes, stage_in)
    environment = environment or own_environment()
    with failing_with(ExitCode.USAGE):
        return BatchJob(
            name=job_name or batch.name,
            program=batch.program,
            arguments=batch.arguments,
            inputs=batch.inputs,
            folders=batch.folders,
            checkpoint=batch.checkpoint,
            n_nodes=nodes,
            n_ranks_per_node=ntasks_per_node,
            seconds=None if time is None else seconds_of(time),
            memory=memory,
            account=account,
            queue=queue,
            modules=tuple(modules or ()),
            activation=() if environment is None else activation_of(environment),
            stage_in=batch.stage_in,
        )


def write_script(text: str, file: Path | None, force: bool, submit: str, inputs: Sequence[Path] = ()) -> None:
    """Write a script to an executable file or to standard output. You can submit it with the command ``submit``.

    With a file, a message lists the inputs that do not exist on this machine.
    """
    if file is None:
        echo_script(text)
        return
    from mdreel.foundation.atomic_files import check_target, replacing

    with checking_output(file):
        check_target(file, force)
    with failing_with(ExitCode.OUTPUT), replacing(file, force) as temporary:
        temporary.write_text(text, encoding="utf-8")
        mode = temporary.stat().st_mode
        temporary.chmod(mode | (mode & 0o444) >> 2)  # executable for anyone who can read it
    missing = [str(path) for path in inputs if not path.exists()]
    if missing:
        echo(f"warning: not found here, but needed by the job: {', '.join(missing)}", err=True)
    echo(f"{file}: submit it with  {submit} {file}", err=True)
