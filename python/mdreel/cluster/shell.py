"""Shell code that the batch scripts of all schedulers share."""

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
    """Return the lines that make an environment.

    Parameters
    ----------
    environment : str
        The folder of a virtual environment or of one of conda, or the name of one of conda.

    Raises
    ------
    FileNotFoundError
        If it is a folder, and no environment.
    """
    folder = Path(environment).absolute()  # not resolved: homes of clusters are links for a reason
    activate = folder / "bin" / "activate"
    if activate.is_file():
        return (f"source {shlex.quote(str(activate))}",)
    if "/" not in environment and not folder.is_dir():
        found = environment
    elif (folder / "conda-meta").is_dir():
        found = str(folder)
    else:
        raise FileNotFoundError(errno.ENOENT, "there is no virtual environment and none of conda", environment)
    return ('eval "$(conda shell.bash hook)"', f"conda activate {shlex.quote(found)}")


def own_environment() -> str | None:
    """Return the environment that this process runs in, virtual or of conda; None if it is in neither."""
    prefix = Path(sys.prefix)
    is_one = (prefix / "conda-meta").is_dir() or (sys.prefix != sys.base_prefix and (prefix / "bin/activate").is_file())
    return sys.prefix if is_one else None


def heading(job: BatchJob, submit: str) -> str:
    """Return the first lines: what the script is, and how it is submitted."""
    nodes, ranks = _number(job.n_nodes, "node"), _number(job.n_ranks_per_node, "rank")
    return (
        "#!/bin/bash\n"
        f"# Runs mdreel {job.arguments[0]} on {nodes} with {ranks} on each. Submit it with:  {submit}\n"
        "# Whenever it is queued again, or submitted again, it goes on where it was, from its checkpoint."
    )


def lookup(job: BatchJob) -> str:
    """Return the lines that make the environment, and look mdreel up in it."""
    lines = ["# The environment that mdreel is in."]
    if job.modules:
        lines += [
            "command -v module > /dev/null || source /etc/profile",
            f"module load {shlex.join(job.modules)}",
        ]
    lines += job.activation
    lines += [
        "set -uo pipefail",
        f"mdreel=$(command -v {shlex.quote(job.program)}) || {{",
        '    echo "mdreel is not found: name its environment (--environment, --module)" >&2',
        "    exit 1",
        "}",
    ]
    return "\n".join(lines)


def environment(job: BatchJob) -> str:
    """Return the lines that make the environment, and one thread a rank."""
    lines = [
        lookup(job),
        "",
        "# One rank a core, so one thread a rank, also in the libraries that it uses.",
        "settings=(",
        *(f"    {name}=1" for name in THREADS),
        ")",
        "# Where ranks do not find each other, or MPI-IO shall know the file system: the MPI library of the site, of",
        "# the same MPI as the launcher. It is the libmpi.so beside the mpirun of its module.",
        "# settings+=(MPI4PY_LIBMPI=/path/to/lib/libmpi.so)",
        'export "${settings[@]}"',
    ]
    return "\n".join(lines)


def node_check(job: BatchJob) -> str:
    """Return a function of bash that looks whether a node can read and write what it must."""
    return f"""\
# What every node must be able to do, looked at before anything starts.
# shellcheck disable=SC2317 # nodes call it
check_node() {{
    # Of several ranks on a node, the first looks.
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
    """Return the lines that look on every node, and at Lustre."""
    return f"""\
{start_on_nodes} \\
    bash -c "$(declare -f check_node); check_node \\"\\$1\\"" check "$mdreel" < /dev/null || {{
    echo "nothing was started: see what is said above of the nodes" >&2
    exit 1
}}"""


def lustre(job: BatchJob) -> str:
    """Return the lines that say how Lustre stripes the trajectory."""
    return f"""\
# On Lustre: over how many servers each file is striped. One for a large file that many ranks read is slow.
if command -v lfs > /dev/null; then
    for path in{_listed(job.inputs)}; do
        stripes=$(lfs getstripe -c -- "$path" 2> /dev/null) && echo "$path: Lustre stripes: $stripes"
    done
fi"""


def kept(job: BatchJob) -> str:
    """Return a function of bash that says how many bytes the checkpoint has."""
    return f"""\
checkpoint={_quoted(job.checkpoint)}
# How much is finished. To queue a job again that finishes nothing would never end.
bytes_kept() {{
    stat --format=%s -- "$checkpoint" "$checkpoint".rank* 2> /dev/null | awk '{{ sum += $1 }} END {{ print sum + 0 }}'
}}
bytes_before=$(bytes_kept)"""


def run(job: BatchJob) -> str:
    """Return the command that has all ranks run the analysis; its input is closed, as it might be this script."""
    return f'"${{launch[@]}}" "$mdreel" {shlex.join(job.arguments)} < /dev/null'


def run_until_told(job: BatchJob, go_on: str, clock: str = "", command: str | None = None) -> str:
    """Return the lines that run the analysis until it is done, or this script is told (USR1) that its time is over.

    Parameters
    ----------
    job : BatchJob
        The job.
    go_on : str
        What is done then, so that it goes on in a next job; one line or several.
    clock : str
        The line that has it told, where the scheduler does not; it may use ``after``.
    command : str, optional
        What runs; by default the analysis, on all ranks.
    """
    return f"""\
# after SECONDS COMMAND: unless this script has ended by then.
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
    after {job.lead_seconds // 3} kill -KILL "$run" > /dev/null 2>&1 & # for a launcher that has not heard
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
        echo "The time is nearly over: queued again, to go on from $checkpoint." >&2
{textwrap.indent(go_on, "        ")}
    elif [ "$status" -ne 0 ]; then
        echo "The time is nearly over, and nothing was finished in it: give it more, or more ranks." >&2
    fi
fi
exit "$status"
"""


def _listed(paths: Iterable[Path]) -> str:
    return "".join(f" {shlex.quote(str(path))}" for path in paths)


def _quoted(path: Path) -> str:
    """Quote a path even where it needs none: by itself in an assignment, mdreel-rmsd could be meant as a difference."""
    quoted = shlex.quote(str(path))
    return quoted if quoted.startswith("'") else f"'{quoted}'"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
