"""Batch scripts for PBS Pro and OpenPBS."""

from __future__ import annotations

import shlex
from pathlib import Path

from mdreel.cluster import shell
from mdreel.cluster.batch_job import BatchJob


def pbs_script(job: BatchJob, file: Path | None = None) -> str:
    """Return the script of a job for qsub of PBS Pro or OpenPBS.

    Parameters
    ----------
    job : BatchJob
        The job.
    file : Path, optional
        Where the script will be. A job does not learn that from PBS, and submits itself again only if it is told.

    Returns
    -------
    str
        The script.

    Notes
    -----
    When the time is over PBS sends SIGTERM, as it does for qdel, so that a script cannot tell them apart; and qrerun is
    for operators. The script therefore has a clock of its own, and submits itself again (PBS Professional Reference
    Guide, qdel and qrerun).
    """
    sections = [
        shell.heading(job, f"qsub {file or 'FILE'}"),
        _directives(job),
        'cd "$PBS_O_WORKDIR" || exit 1',
        shell.environment(job),
        _launch(job),
        shell.node_check(job),
        shell.check('"${launch[@]}"'),
        shell.lustre(job),
        _run(job, file),
    ]
    return "\n\n".join(sections)


def _directives(job: BatchJob) -> str:
    chunk = f"{job.n_nodes}:ncpus={job.n_ranks_per_node}:mpiprocs={job.n_ranks_per_node}:ompthreads=1"
    if job.memory is not None:
        amount, unit = job.amount_of_memory()
        chunk += f":mem={amount}{unit.lower()}b"
    lines = [f"#PBS -N {job.name}", f"#PBS -l select={chunk}", "#PBS -l place=scatter"]
    if job.seconds is not None:
        lines += [f"#PBS -l walltime={job.clock()}"]
    lines += [
        f"#PBS -{letter} {value}" for letter, value in (("A", job.account), ("q", job.queue)) if value is not None
    ]
    lines += [
        f"# The log, output and errors together: {job.name}.o<number of the job>, in the folder of qsub.",
        "#PBS -j oe",
        "# Run again when a node fails or an operator takes it from its nodes (qrerun).",
        "#PBS -r y",
    ]
    return "\n".join(lines)


def _launch(job: BatchJob) -> str:
    return (
        "# mpirun learns the nodes from PBS. What ranks must know is given to env, as not every MPI hands it on.\n"
        f'launch=(mpirun -n {job.n_ranks} env "${{settings[@]}}")'
    )


def _run(job: BatchJob, file: Path | None) -> str:
    if job.seconds is None or file is None:
        return f"""\
# It would submit itself again before its time is over, if it knew how long that is, and where it is itself:
# mdreel cluster pbs --time HH:MM:SS --output-script FILE
{shell.run(job)}
"""
    go_on = f"qsub {shlex.quote(str(file))}\nexit"
    clock = f"after $(({job.seconds - job.lead_seconds} - SECONDS)) kill -USR1 $$ > /dev/null 2>&1 &\n"
    return f"""\
{shell.kept(job)}

# A little before the time is over the ranks are ended, and the job is submitted again. This script tells itself, as
# PBS tells it in the same way of the end of its time and of qdel.
{shell.run_until_told(job, go_on, clock)}"""
