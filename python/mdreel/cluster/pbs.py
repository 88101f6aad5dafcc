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
    for operators. The script therefore ends its run itself, a little before its time is over, and submits itself again.
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
    return f"""\
{shell.kept(job)}

# A little before the time is over the ranks are ended, and the job is submitted again.
script={shlex.quote(str(file))}
timeout --signal=TERM --kill-after=30 $(({job.seconds - job.lead_seconds} - SECONDS)) \\
    {shell.run(job)}
status=$?
if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then # timeout has ended it
    if [ "$(bytes_kept)" -gt "$bytes_before" ]; then
        echo "The time is nearly over: submitted again, to go on from $checkpoint:" >&2
        qsub "$script"
        exit
    fi
    echo "The time is nearly over, and nothing was finished in it: give it more, or more ranks." >&2
fi
exit "$status"
"""
