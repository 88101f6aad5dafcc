"""Batch scripts for Slurm."""

from __future__ import annotations

from enum import StrEnum

from mdreel.cluster import shell
from mdreel.cluster.batch_job import BatchJob


class Launcher(StrEnum):
    """Who starts the ranks: Slurm's srun, which speaks PMIx or PMI-2 with the MPI library, or mpirun."""

    PMIX = "pmix"
    PMI2 = "pmi2"
    MPIRUN = "mpirun"


def slurm_script(job: BatchJob, launcher: Launcher, file: str | None = None) -> str:
    """Return the script of a job for Slurm's sbatch.

    Parameters
    ----------
    job : BatchJob
        The job.
    launcher : Launcher
        Who starts the ranks.
    file : str, optional
        What the script is called, as its reader will submit it.

    Returns
    -------
    str
        The script.
    """
    sections = [
        shell.heading(job, f"sbatch {file or 'FILE'}"),
        _directives(job),
        shell.environment(job),
        _launch(job, launcher),
        shell.node_check(job),
        shell.check(f"srun --mpi=none --nodes={job.n_nodes} --ntasks={job.n_nodes} --ntasks-per-node=1"),
        shell.lustre(job),
        shell.kept(job),
        _run(job),
    ]
    return "\n\n".join(sections)


def _directives(job: BatchJob) -> str:
    lines = [
        f"#SBATCH --job-name={job.name}",
        f"#SBATCH --nodes={job.n_nodes}",
        f"#SBATCH --ntasks-per-node={job.n_ranks_per_node}",
        "#SBATCH --cpus-per-task=1",
        "#SBATCH --ntasks-per-core=1",
    ]
    if job.memory is not None:
        lines += ["#SBATCH --mem={}{}".format(*job.amount_of_memory())]
    for option, value in (("time", job.clock()), ("account", job.account), ("partition", job.queue)):
        if value is not None:
            lines += [f"#SBATCH --{option}={value}"]
    lines += [
        "# The log; a job that is queued again adds to it.",
        "#SBATCH --output=%x-%j.log",
        "#SBATCH --open-mode=append",
        "# Queued again when a node fails or the job is preempted. Told before its time is over, which Slurm may do up",
        "# to a minute earlier than this; see the end of this script.",
        "#SBATCH --requeue",
        f"#SBATCH --signal=B:USR1@{job.lead_seconds}",
    ]
    return "\n".join(lines)


def _launch(job: BatchJob, launcher: Launcher) -> str:
    if launcher is Launcher.MPIRUN:
        return (
            "# mpirun asks Slurm for the nodes. What ranks must know is given to env, as not every MPI hands it on.\n"
            f'launch=(mpirun -n {job.n_ranks} env "${{settings[@]}}")'
        )
    return (
        "# How Slurm and the MPI library find each other: `srun --mpi=list` shows what there is here. Open MPI needs\n"
        "# pmix; MPICH, Intel MPI and the mpich of PyPI take pmi2.\n"
        f"launch=(srun --mpi={launcher.value} --ntasks={job.n_ranks} --cpus-per-task=1 --cpu-bind=cores"
        " --kill-on-bad-exit=1)"
    )


def _run(job: BatchJob) -> str:
    go_on = (
        'scontrol requeue "$SLURM_JOB_ID"\n'
        "sleep 60 # Slurm ends this script; by itself it would be a job that has failed"
    )
    comment = "# When the time is nearly over the ranks are ended, and the job is queued again."
    return f"{comment}\n{shell.run_until_told(job, go_on)}"
