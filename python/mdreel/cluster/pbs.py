"""Batch scripts for PBS Pro and OpenPBS."""

from __future__ import annotations

import shlex
from pathlib import Path

from mdreel.cluster import shell
from mdreel.cluster.batch_job import BatchJob
from mdreel.cluster.stage_in import place_of_copies, stage_in


def pbs_script(job: BatchJob, file: Path | None = None) -> str:
    """Return the job script for qsub of PBS Pro or OpenPBS.

    Parameters
    ----------
    job : BatchJob
        The job.
    file : Path, optional
        Path of the script. The job needs this path to resubmit itself, because PBS does not tell a job where its script
        is.

    Returns
    -------
    str
        The script.

    Notes
    -----
    PBS sends SIGTERM both at the time limit and on qdel, so a script cannot distinguish between the two. In addition,
    only operators are allowed to use qrerun. The script therefore measures its own run time and resubmits itself (see
    qdel and qrerun in the PBS Professional Reference Guide).

    Examples
    --------
    >>> from pathlib import Path
    >>> from mdreel.cluster import BatchJob, pbs_script
    >>> arguments = ("rmsd", "-s", "adk.psf", "-f", "adk.xtc", "--checkpoint", "rmsd.checkpoint")
    >>> inputs, checkpoint = (Path("adk.psf"), Path("adk.xtc")), Path("rmsd.checkpoint")
    >>> job = BatchJob("rmsd", "mdreel", arguments, inputs, (Path("results"),), checkpoint, 2, 64, 3600)
    >>> [line for line in pbs_script(job).splitlines() if "walltime" in line]
    ['#PBS -l walltime=01:00:00']
    """
    sections = [
        shell.heading(job, f"qsub {file or 'FILE'}"),
        _directives(job),
        'cd "$PBS_O_WORKDIR" || exit 1',
        shell.environment(job),
        *place_of_copies(job.stage_in),
        _launch(job),
        shell.node_check(job),
        shell.check('"${launch[@]}"'),
        shell.lustre(job),
        *stage_in(job.stage_in, job.n_nodes, job.n_ranks_per_node, '"${launch[@]}"'),
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
        f"# The log with output and errors: {job.name}.o<number of the job>, in the folder in which you run qsub.",
        "#PBS -j oe",
        "# PBS runs the job again when a node fails or an operator requeues it (qrerun).",
        "#PBS -r y",
    ]
    return "\n".join(lines)


def _launch(job: BatchJob) -> str:
    return (
        "# mpirun gets the nodes from PBS. Not every MPI passes variables on to ranks, so env sets them.\n"
        f'launch=(mpirun -n {job.n_ranks} env "${{settings[@]}}")'
    )


def _run(job: BatchJob, file: Path | None) -> str:
    if job.seconds is None or file is None:
        return f"""\
# With a time limit and a path, this script would resubmit itself near the time limit:
# mdreel cluster pbs --time HH:MM:SS --output-script FILE
{shell.run(job)}
"""
    go_on = f"qsub {shlex.quote(str(file))}\nexit"
    clock = f"after $(({job.seconds - job.lead_seconds} - SECONDS)) kill -USR1 $$ > /dev/null 2>&1 &\n"
    return f"""\
{shell.kept(job)}

# Shortly before the time limit, the script ends the ranks and resubmits the job. It measures its own time, because PBS
# sends the same signal at the time limit and on qdel.
{shell.run_until_told(job, go_on, clock)}"""
