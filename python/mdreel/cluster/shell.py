"""Shell code that is shared by the batch scripts for all schedulers."""

from __future__ import annotations

import errno
import shlex
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from mdreel.cluster.batch_job import BatchJob

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


def activation_of(environment: str) -> tuple[str, ...]:
    """Return the lines that activate an environment.

    Parameters
    ----------
    environment : str
        Folder of a virtual environment or a conda environment, or the name of a conda environment.

    Raises
    ------
    FileNotFoundError
        If the folder is not an environment.
    """
    folder = Path(environment).absolute()  # Do not resolve links: clusters use them for home folders.
    activate = folder / "bin" / "activate"
    if activate.is_file():
        return (f"source {shlex.quote(str(activate))}",)
    if "/" not in environment and not folder.is_dir():
        found = environment
    elif (folder / "conda-meta").is_dir():
        found = str(folder)
    else:
        raise FileNotFoundError(errno.ENOENT, "there is no virtual or conda environment", environment)
    return ('eval "$(conda shell.bash hook)"', f"conda activate {shlex.quote(found)}")


def own_environment() -> str | None:
    """Return the virtual or conda environment of this process, or None if there is none."""
    prefix = Path(sys.prefix)
    is_one = (prefix / "conda-meta").is_dir() or (sys.prefix != sys.base_prefix and (prefix / "bin/activate").is_file())
    return sys.prefix if is_one else None


def heading(job: BatchJob, submit: str) -> str:
    """Return the first lines, which describe the script and how to submit it."""
    nodes, ranks = _number(job.n_nodes, "node"), _number(job.n_ranks_per_node, "rank")
    return (
        "#!/bin/bash\n"
        f"# Runs mdreel {job.arguments[0]} on {nodes} with {ranks} on each. Submit it with:  {submit}\n"
        "# A requeued or resubmitted job continues from its checkpoint."
    )


def lookup(job: BatchJob) -> str:
    """Return the lines that activate the environment and check that mdreel is installed in it."""
    lines = ["# The environment of mdreel."]
    if job.modules:
        lines += [
            "command -v module > /dev/null || source /etc/profile",
            f"module load {shlex.join(job.modules)}",
        ]
    lines += job.activation
    lines += [
        "set -uo pipefail",
        f"mdreel=$(command -v {shlex.quote(job.program)}) || {{",
        '    echo "mdreel was not found: name its environment (--environment, --module)" >&2',
        "    exit 1",
        "}",
    ]
    return "\n".join(lines)


def environment(job: BatchJob) -> str:
    """Return the lines that activate the environment and set one thread per rank."""
    lines = [
        lookup(job),
        "",
        "# There is one rank for each core, so libraries must use one thread.",
        "settings=(",
        *(f"    {name}=1" for name in THREADS),
        ")",
        "# If ranks do not find each other, or for MPI-IO on a parallel file system, use the MPI library of the site.",
        "# It must be of the same MPI as the launcher: the libmpi.so of the module of mpirun.",
        "# settings+=(MPI4PY_LIBMPI=/path/to/lib/libmpi.so)",
        'export "${settings[@]}"',
    ]
    return "\n".join(lines)


def node_check(job: BatchJob) -> str:
    """Return a bash function that checks whether a node can read the inputs and write the outputs."""
    return f"""\
# Check on every node that files can be read and folders written to.
# shellcheck disable=SC2317 # nodes call it
check_node() {{
    # Only the first rank of a node checks.
    [ "${{OMPI_COMM_WORLD_LOCAL_RANK:-${{MPI_LOCALRANKID:-${{PALS_LOCAL_RANKID:-0}}}}}}" = 0 ] || return 0
    local path probe failed=0
    for path in "$1"{_listed(job.inputs)}; do
        if [ ! -f "$path" ] || ! head -c 1 -- "$path" > /dev/null; then
            echo "$HOSTNAME: $path cannot be read (in $PWD)" >&2
            failed=1
        fi
    done
    for path in{_listed(job.folders)} "${{TMPDIR:-/tmp}}"; do
        if probe=$(mktemp --tmpdir="$path"); then
            rm -f -- "$probe"
        else
            echo "$HOSTNAME: $path cannot be written to (in $PWD)" >&2
            failed=1
        fi
    done
    return "$failed"
}}"""


def check(start_on_nodes: str) -> str:
    """Return the lines that run the checks on every node and report Lustre stripes."""
    return f"""\
{start_on_nodes} \\
    bash -c "$(declare -f check_node); check_node \\"\\$1\\"" check "$mdreel" < /dev/null || {{
    echo "nothing was started: see the messages of the nodes above" >&2
    exit 1
}}"""


def lustre(job: BatchJob) -> str:
    """Return the lines that report how the trajectory is striped on Lustre."""
    return f"""\
# On Lustre, print the stripe count of each file. A large file in one stripe is slow for many ranks.
if command -v lfs > /dev/null; then
    for path in{_listed(job.inputs)}; do
        stripes=$(lfs getstripe -c -- "$path" 2> /dev/null) && echo "$path: Lustre stripes: $stripes"
    done
fi"""


def kept(job: BatchJob) -> str:
    """Return a bash function that prints the size of the checkpoint in bytes."""
    return f"""\
checkpoint={_quoted(job.checkpoint)}
# The size of the checkpoint. A job that makes no progress is not requeued.
bytes_kept() {{
    stat --format=%s -- "$checkpoint" "$checkpoint".rank* 2> /dev/null | awk '{{ sum += $1 }} END {{ print sum + 0 }}'
}}
bytes_before=$(bytes_kept)"""


def run(job: BatchJob) -> str:
    """Return the command that runs the analysis on all ranks. Its standard input is empty."""
    words = shlex.join(job.arguments) if job.stage_in is None else job.stage_in.words(job.arguments)
    return f'"${{launch[@]}}" "$mdreel" {words} < /dev/null'


def run_until_told(job: BatchJob, go_on: str, clock: str = "", command: str | None = None) -> str:
    """Return the lines that run the analysis until it ends, or until USR1 is received near the time limit.

    Parameters
    ----------
    job : BatchJob
        The job.
    go_on : str
        Lines that requeue the job, so that the next job continues the analysis.
    clock : str
        Line that sends USR1 if this is not done by the scheduler. You can use ``after`` in it.
    command : str, optional
        The command. By default, the analysis on all ranks.
    """
    return f"""\
# after SECONDS COMMAND: run the command after some seconds, unless this script has ended.
# shellcheck disable=SC2317 # the trap calls it
after() {{
    local end=$((SECONDS + $1))
    shift
    while [ "$SECONDS" -lt "$end" ]; do
        sleep 2
        kill -0 $$ || return
    done
    "$@"
}}
out_of_time=
# shellcheck disable=SC2317 # the trap calls it
end_of_time() {{
    out_of_time=1
    kill -TERM "$run"
    after {job.lead_seconds // 3} kill -KILL "$run" > /dev/null 2>&1 & # for a launcher that ignores SIGTERM
}}
trap end_of_time USR1
{clock}{run(job) if command is None else command} &
run=$!
wait "$run"
status=$?
if [ -n "$out_of_time" ]; then
    wait "$run" # the signal has ended the first wait
    status=$?
    if [ "$status" -ne 0 ] && [ "$(bytes_kept)" -gt "$bytes_before" ]; then
        echo "The time limit is near: the job is requeued and continues from $checkpoint." >&2
{textwrap.indent(go_on, "        ")}
    elif [ "$status" -ne 0 ]; then
        echo "The time limit is near, and the job made no progress: give it more time or more ranks." >&2
    fi
fi
exit "$status"
"""


def _listed(paths: Iterable[Path]) -> str:
    return "".join(f" {shlex.quote(str(path))}" for path in paths)


def _quoted(path: Path) -> str:
    """Always quote a path, because shellcheck interprets an unquoted mdreel-rmsd in an assignment as a subtraction."""
    quoted = shlex.quote(str(path))
    return quoted if quoted.startswith("'") else f"'{quoted}'"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
