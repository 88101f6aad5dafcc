"""Batch scripts for Slurm."""

from __future__ import annotations

import shlex
from enum import StrEnum

from mdreel.cluster import shell
from mdreel.cluster.batch_job import BatchJob
from mdreel.cluster.stage_in import place_of_copies, stage_in

_REQUEUE = (
    'scontrol requeue "$SLURM_JOB_ID"\nsleep 60 # Slurm ends this script; by itself it would be a job that has failed'
)


class Launcher(StrEnum):
    """Launcher that starts the ranks: srun with PMIx or PMI-2, or mpirun.

    Attributes
    ----------
    PMIX, PMI2 : Launcher
        ``srun`` with PMIx (for Open MPI), and with PMI-2 (for MPICH and Intel MPI).
    MPIRUN : Launcher
        The ``mpirun`` command of the MPI library.

    Examples
    --------
    >>> from mdreel.cluster import Launcher
    >>> [launcher.value for launcher in Launcher]
    ['pmix', 'pmi2', 'mpirun']
    """

    PMIX = "pmix"
    PMI2 = "pmi2"
    MPIRUN = "mpirun"


def slurm_script(job: BatchJob, launcher: Launcher, file: str | None = None) -> str:
    """Return the job script for Slurm's sbatch.

    Parameters
    ----------
    job : BatchJob
        The job.
    launcher : Launcher
        Launcher that starts the ranks.
    file : str, optional
        File name of the script, which is used in the instructions in its first lines.

    Returns
    -------
    str
        The script.

    Examples
    --------
    >>> from pathlib import Path
    >>> from mdreel.cluster import BatchJob, Launcher, slurm_script
    >>> arguments = ("rmsd", "-s", "adk.psf", "-f", "adk.xtc", "--checkpoint", "rmsd.checkpoint")
    >>> inputs, checkpoint = (Path("adk.psf"), Path("adk.xtc")), Path("rmsd.checkpoint")
    >>> job = BatchJob("rmsd", "mdreel", arguments, inputs, (Path("results"),), checkpoint, 2, 64)
    >>> script = slurm_script(job, Launcher.PMIX)
    >>> [line for line in script.splitlines() if "--nodes" in line or "--ntasks-per-node" in line][:2]
    ['#SBATCH --nodes=2', '#SBATCH --ntasks-per-node=64']
    """
    on_nodes = f"srun --mpi=none --nodes={job.n_nodes} --ntasks={job.n_nodes} --ntasks-per-node=1"
    sections = [
        shell.heading(job, f"sbatch {file or 'FILE'}"),
        _directives(job),
        shell.environment(job),
        *place_of_copies(job.stage_in),
        _launch(job, launcher),
        shell.node_check(job),
        shell.check(on_nodes),
        shell.lustre(job),
        *stage_in(job.stage_in, job.n_nodes, job.n_ranks_per_node, on_nodes),
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
    return "\n".join([*lines, *_limits(job), *_log_and_signal(job, "%x-%j.log")])


def _limits(job: BatchJob) -> list[str]:
    lines = [] if job.memory is None else ["#SBATCH --mem={}{}".format(*job.amount_of_memory())]
    asked = (("time", job.clock()), ("account", job.account), ("partition", job.queue))
    return lines + [f"#SBATCH --{option}={value}" for option, value in asked if value is not None]


def _log_and_signal(job: BatchJob, log: str) -> list[str]:
    return [
        "# The log. A requeued job appends to it.",
        f"#SBATCH --output={log}",
        "#SBATCH --open-mode=append",
        "# Slurm requeues the job when a node fails or the job is preempted. It sends USR1 before the time limit, up",
        "# to a minute earlier than stated here; see the end of this script.",
        "#SBATCH --requeue",
        f"#SBATCH --signal=B:USR1@{job.lead_seconds}",
    ]


def _launch(job: BatchJob, launcher: Launcher) -> str:
    if launcher is Launcher.MPIRUN:
        return (
            "# mpirun gets the nodes from Slurm. Not every MPI passes variables on to ranks, so env sets them.\n"
            f'launch=(mpirun -n {job.n_ranks} env "${{settings[@]}}")'
        )
    return (
        "# The interface between Slurm and the MPI library; `srun --mpi=list` lists all interfaces. Open MPI\n"
        "# needs pmix; MPICH, Intel MPI and the mpich of PyPI use pmi2.\n"
        f"launch=(srun --mpi={launcher.value} --ntasks={job.n_ranks} --cpus-per-task=1 --cpu-bind=cores"
        " --kill-on-bad-exit=1)"
    )


def _run(job: BatchJob) -> str:
    comment = "# Shortly before the time limit, the script ends the ranks and requeues the job."
    requeue = _REQUEUE if job.stage_in is None else f"remove_copies\n{_REQUEUE}"
    return f"{comment}\n{shell.run_until_told(job, requeue)}"


def slurm_array_script(job: BatchJob, n_parts: int, n_at_once: int | None = None, file: str | None = None) -> str:
    """Return the script for a Slurm job array, in which each job runs a part of an ensemble.

    Parameters
    ----------
    job : BatchJob
        One of the jobs, which runs on one node with one rank per core. The script appends ``--part I/N`` to its
        arguments. Its checkpoint is the folder of the ensemble.
    n_parts : int
        Number of jobs.
    n_at_once : int, optional
        Maximum number of jobs that run at the same time.
    file : str, optional
        File name of the script, which is used in the instructions in its first lines.

    Returns
    -------
    str
        The script.

    Examples
    --------
    >>> from pathlib import Path
    >>> from mdreel.cluster import BatchJob, slurm_array_script
    >>> arguments, ensemble = ("ensemble", "run", "folding.toml"), Path("folding")
    >>> job = BatchJob("folding", "mdreel", arguments, (Path("folding.toml"),), (ensemble,), ensemble, 1, 16)
    >>> script = slurm_array_script(job, n_parts=4)
    >>> [line for line in script.splitlines() if "--array" in line]
    ['#SBATCH --array=0-3']
    """
    place = shlex.quote(str(job.checkpoint))
    heading = (
        "#!/bin/bash\n"
        f"# Runs an ensemble in {n_parts} jobs, each with some replicas. Submit it with:  sbatch {file or 'FILE'}\n"
        "# A requeued or resubmitted job continues where it stopped."
    )
    kept = (
        f"checkpoint={place}\n"
        "# The size of the ensemble. A job that makes no progress is not requeued.\n"
        "bytes_kept() {\n"
        '    find "$checkpoint" -type f -printf "%s\\n" 2> /dev/null | awk \'{ sum += $1 } END { print sum + 0 }\'\n'
        "}\n"
        "bytes_before=$(bytes_kept)"
    )
    command = f'"$mdreel" {shlex.join(job.arguments)} --part "$SLURM_ARRAY_TASK_ID/{n_parts}" < /dev/null'
    told = "# Shortly before the time limit, the replicas write checkpoints and stop, and the script requeues the job."
    run = shell.run_until_told(job, _REQUEUE, command=command)
    sections = [heading, _array_directives(job, n_parts, n_at_once), shell.lookup(job), kept, f"{told}\n{run}"]
    return "\n\n".join(sections)


def _array_directives(job: BatchJob, n_parts: int, n_at_once: int | None) -> str:
    at_once = "" if n_at_once is None else f"%{n_at_once}"
    lines = [
        f"#SBATCH --job-name={job.name}",
        f"#SBATCH --array=0-{n_parts - 1}{at_once}",
        "#SBATCH --nodes=1",
        "#SBATCH --ntasks=1",
        f"#SBATCH --cpus-per-task={job.n_ranks_per_node}",
        *_limits(job),
        *_log_and_signal(job, "%x-%A_%a.log"),
    ]
    return "\n".join(lines)
