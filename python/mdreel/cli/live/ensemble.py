"""The command ``mdreel ensemble``, which runs many replicas of a simulation."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mdreel.cli.analyses.recipe import required_path
from mdreel.cli.errors import CommandError, ExitCode, failing_with, one_line
from mdreel.cli.live.ensemble_file import EnsembleFile, ensemble_file_schema, make_analyses, read_ensemble
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, CommandGroup, Option
from mdreel.cli.output import align_columns, echo, echo_json, reporter
from mdreel.cli.run.cluster import Script, write_script
from mdreel.errors import MdreelError
from mdreel.foundation.printable import printable

if TYPE_CHECKING:
    from mdreel.cluster.batch_job import BatchJob
    from mdreel.live.ensemble.ensemble import EnsembleOutcome

RUN_EXAMPLES = """\
Examples:
  mdreel ensemble run ensemble.toml
  mdreel ensemble run ensemble.toml --retry
  mdreel ensemble run --schema > ensemble.schema.json

An ensemble file:
  name = "folding"
  replicas = 64
  command = ["python", "{folder}/fold.py", "{channel}", "--seed", "{seed}", "--staging", "{staging}"]
  restart = ["python", "{folder}/fold.py", "{channel}", "--from", "{checkpoint}", "--staging", "{staging}"]
  checkpoint = "state.checkpoint"
  topology = "protein.pdb"
  [[analysis]]
  type = "rmsd"
"""
STATUS_EXAMPLES = """\
Examples:
  mdreel ensemble status ensemble.toml
  mdreel ensemble status ensemble.toml --json
  mdreel watch
"""

SLURM_EXAMPLES = """\
Examples:
  mdreel ensemble slurm ensemble.toml -o folding.sh
  sbatch folding.sh

Resources, in the ensemble file:
  [slurm]
  replicas-per-job = 16
  time = "24:00:00"
  account = "chem"
  partition = "compute"
"""

ENSEMBLE = "Ensemble"

_PART = re.compile(r"(\d+)/(\d+)")
_HEADINGS = ("replica", "state", "frames", "deaths", "process", "what happened last")

ensemble = CommandGroup("ensemble", "Run many replicas of a simulation. mdreel starts, analyses and restarts them.")

File = Annotated[Path, Argument(metavar="ENSEMBLE", help="Ensemble file (TOML).")]


@ensemble.add(summary="Run an ensemble, or continue it.", examples=RUN_EXAMPLES)
def run(
    path: Annotated[Path | None, Argument(metavar="ENSEMBLE", help="Ensemble file (TOML).")] = None,
    schema: Annotated[bool, Option(group=shared.INPUT, help="Print the JSON schema of ensemble files.")] = False,
    part: Annotated[
        str | None,
        Option(
            metavar="I/N",
            group=ENSEMBLE,
            help="Run only part I (from 0) of N parts of the replicas, for example one part on each machine.",
        ),
    ] = None,
    retry: Annotated[bool, Option(group=ENSEMBLE, help="Run failed replicas again.")] = False,
    quiet: shared.Quiet = False,
) -> None:
    """Start, analyse and restart the replicas of an ensemble, and write their tables.

    Run the command again to continue unfinished replicas, even if the command was killed.
    """
    if schema:
        echo_json(ensemble_file_schema(), indent=2)
        return
    path = required_path(path, "name the ensemble file (mdreel ensemble run ensemble.toml)")
    task = read_ensemble(path)
    numbers = _numbers(part, task.table.replicas)
    found = _run(task, numbers, retry, quiet)
    if not quiet:
        echo(f"{found.n_finished} of {len(numbers)} replicas have finished", err=True)
        for table in found.tables:
            echo(f"{table}", err=True)
    if found.n_failed:
        for failure in found.failures:
            echo(f"mdreel: replica {failure}", err=True)
        message = f"{path}: {found.n_failed} of {len(numbers)} replicas have failed"
        raise CommandError(f"{message} (--retry tries them again)", ExitCode.OUTPUT)


@ensemble.add(summary="Show the state of the replicas.", examples=STATUS_EXAMPLES)
def status(
    path: File,
    as_json: shared.AsJson = False,
) -> None:
    """Show the state, the number of frames and the last event of each replica. `mdreel watch` shows details."""
    task = read_ensemble(path, runs_commands=False)
    with failing_with(ExitCode.INPUT):
        facts = [_facts(task, number) for number in range(task.table.replicas)]
    if as_json:
        echo_json(facts, indent=2)
        return
    echo("\n".join(_table(facts)))
    states = [one["state"] for one in facts]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    echo(f"{task.table.name}: {len(states)} replicas: {counts}")


@ensemble.add(summary="Write a batch script for Slurm.", examples=SLURM_EXAMPLES)
def slurm(
    path: File,
    script: Script = None,
    force: shared.Force = False,
) -> None:
    """Write a batch script for a job array, in which each job runs a part of the ensemble on its own node.

    Specify the resources in the table [slurm] of the ensemble file.
    """
    from mdreel.cluster.slurm import slurm_array_script

    task = read_ensemble(path)
    table = task.table.slurm
    n_parts = -(-task.table.replicas // (table.replicas_per_job or task.table.n_at_once))
    with failing_with(ExitCode.INPUT):
        job = _make_job(task)
    text = slurm_array_script(job, n_parts, table.jobs_at_once, None if script is None else str(script))
    write_script(text, script, force, "sbatch")


def _make_job(task: EnsembleFile) -> "BatchJob":
    """Return the batch job for one part."""
    from mdreel.cluster.batch_job import BatchJob, seconds_of
    from mdreel.cluster.shell import activation_of, own_environment

    table, place = task.table.slurm, task.table.directory_path(task.folder)
    environment = table.environment or own_environment()
    return BatchJob(
        name=f"mdreel-{task.table.name}",
        program="mdreel",
        arguments=("ensemble", "run", str(task.path.absolute())),
        inputs=(task.path, task.request.topology),
        folders=(place,),
        checkpoint=place,
        n_nodes=1,
        n_ranks_per_node=table.cpus_per_job or task.table.n_at_once * task.table.threads,
        seconds=None if table.time is None else seconds_of(table.time),
        memory=table.memory,
        account=table.account,
        queue=table.partition,
        modules=table.modules,
        activation=() if environment is None else activation_of(environment),
    )


def _run(task: EnsembleFile, numbers: Sequence[int], retry: bool, quiet: bool) -> "EnsembleOutcome":
    from mdreel.live.ensemble.ensemble import Ensemble

    analyses = make_analyses(task)
    replicas = Ensemble(task.table, task.folder, analyses, task.identity)
    try:
        return replicas.run(numbers, retry=retry, report=reporter(quiet))
    except MdreelError as error:
        raise CommandError(one_line(error), ExitCode.INPUT) from error
    except OSError as error:  # only writing can fail here
        raise CommandError(one_line(error), ExitCode.OUTPUT) from error


def _numbers(part: str | None, n_replicas: int) -> Sequence[int]:
    """Return the replicas of a part. Parts consist of consecutive replicas, and have nearly the same size."""
    if part is None:
        return range(n_replicas)
    found = _PART.fullmatch(part)
    i, n = map(int, found.groups()) if found else (0, 0)
    if not 0 <= i < n:
        raise CommandError(f"--part: expected I/N with I from 0 to N - 1, got {part!r}", ExitCode.USAGE)
    return range(i * n_replicas // n, (i + 1) * n_replicas // n)


def _facts(task: EnsembleFile, number: int) -> dict[str, Any]:
    """Return the state of a replica for JSON output. Its keys are stable."""
    from mdreel.live.channels.status import Status
    from mdreel.live.ensemble.ensemble import replica_state
    from mdreel.live.ensemble.replica import Replica

    replica = Replica(number, task.table, task.folder)
    state, history = replica_state(replica)
    n_frames = history.n_frames
    if state == "running":
        with suppress(MdreelError, OSError):  # it has no channel yet, or runs on another machine
            n_frames = Status.read(replica.channel).n_published
    return {
        "replica": replica.label,
        "state": state,
        "n_frames": n_frames,
        "n_deaths": history.n_deaths,
        "process": history.process.number if state == "running" and history.process is not None else None,
        "event": history.event,
        "time": history.time or None,
        "message": history.message,
        "channel": str(replica.channel),
        "directory": str(replica.directory),
    }


def _table(facts: Sequence[dict[str, Any]]) -> list[str]:
    return align_columns([_HEADINGS, *(_row(one) for one in facts)], left=(0, 1, len(_HEADINGS) - 1))


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    return (
        one["replica"],
        one["state"],
        f"{one['n_frames']:,}",
        str(one["n_deaths"] or ""),
        str(one["process"] or ""),
        printable(one["message"]),
    )
