"""Commands that follow from advice: split the trajectory first if advised, then start the analysis."""

import os
import shlex
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from mdreel.cli.trajectory.written_files import EXTENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mdreel.cli.run.nested_command import NestedCommand
    from mdreel.cluster.advice.advice import Advice

_ENDINGS = {"XTC": ".xtc", "TRR": ".trr", "DCD": ".dcd", "NCDF": ".nc", "H5MD": ".h5md"}

# What a plan says anew: the number of workers, and the files where they are split.
_WORKERS = ("-nt", "--n-workers")
_INPUTS = ("-f", "--trajectory")

# Few enough to be read one by one.
_MOST_NAMED = 8


def commands_of(advice: "Advice", nested: "NestedCommand") -> list[str]:
    """Return the commands, as lines for a shell.

    Parameters
    ----------
    advice : Advice
        The advice.
    nested : NestedCommand
        The command that it is about.
    """
    plan = advice.plan
    trajectories: Sequence[Path] = nested.request.trajectories
    lines, files = [], ""
    if plan.must_split:
        folder = _folder_for(trajectories[0])
        target = folder / f"{trajectories[0].stem}{_ending(advice, trajectories[0])}"
        inputs = " ".join(f"-f {_quoted(path)}" for path in trajectories)
        lines += [f"mkdir {_quoted(folder)}"]
        lines += [f"{_program(nested)} split {inputs} -n {plan.n_files} -o {_quoted(target)}"]
        files = _segments(target, plan.n_files)
    return [*lines, _run_command(advice, nested, files), *_comments(advice, nested, files)]


def _run_command(advice: "Advice", nested: "NestedCommand", files: str) -> str:
    """The command of the analysis, with what the plan says."""
    plan = advice.plan
    launcher = f"mpirun -n {plan.n_workers} " if plan.executor == "mpi" else ""
    left_out = _WORKERS + _INPUTS if files else _WORKERS
    words = [_program(nested), *map(_quoted, _without(nested.arguments, left_out))]
    if files:
        words.append(files)
    if plan.executor in ("processes", "serial"):
        words += ["--backend", plan.executor]
    if plan.executor in ("processes", "threads"):
        words += ["-nt", str(plan.n_workers)]
    if plan.access not in ("shared", "chain"):
        words += ["--access", plan.access]
    if plan.schedule == "static":
        words += ["--schedule", "static"]
    if plan.n_nodes > 1 and plan.communication == "window":
        words += ["--communication", "window"]
    return launcher + " ".join(words)


def _comments(advice: "Advice", nested: "NestedCommand", files: str) -> "Iterator[str]":
    """What may be of use besides, as comments."""
    plan, trajectories = advice.plan, nested.request.trajectories
    if plan.n_nodes > 1:
        script = f"{_program(nested)} cluster slurm --nodes {plan.n_nodes} --ntasks-per-node {plan.workers_per_node}"
        command = _run_command(advice, nested, files).split(" ", 3)[-1]
        yield f"# Where a scheduler starts the ranks (or pbs): {script} -o job.sh -- {command}"
    if advice.verdict("format").choice == "dcd":
        inputs = " ".join(f"-f {_quoted(path)}" for path in trajectories)
        plain = trajectories[0].with_suffix(".plain.dcd").name
        yield f"# Where it is analysed often: {_program(nested)} convert {inputs} -o {_quoted(plain)}"


def _without(arguments: "Sequence[str]", left_out: tuple[str, ...]) -> "Iterator[str]":
    """Leave out options with their values."""
    remaining = iter(arguments)
    for word in remaining:
        if word in left_out:
            next(remaining, None)
        elif not any(word.startswith(f"{name}=") for name in left_out if name.startswith("--")):
            yield word


def _folder_for(trajectory: Path) -> Path:
    """A folder that is not there yet, beside the trajectory, or where we are if nothing can be written there."""
    place = trajectory.parent if os.access(trajectory.parent, os.W_OK) else Path()
    for number in count(1):
        folder = place / f"{trajectory.stem}-segments{'' if number == 1 else f'-{number}'}"
        if not folder.exists():
            return folder
    raise AssertionError("there is always a next number")


def _ending(advice: "Advice", trajectory: Path) -> str:
    """The ending of segments: that of the trajectory where it can be written."""
    if trajectory.suffix.lower() in EXTENSIONS:
        return trajectory.suffix
    return _ENDINGS.get(advice.sample.format, ".dcd")


def _segments(target: Path, n_files: int) -> str:
    """The options that name all segments: one by one, or by the shell."""
    names = [target.with_name(f"{target.stem}-{i:0{len(str(n_files))}}{target.suffix}") for i in range(1, n_files + 1)]
    pattern = f"{target.parent / target.stem}-*{target.suffix}"
    if n_files <= _MOST_NAMED or _quoted(target) != str(target):
        return " ".join(f"-f {_quoted(name)}" for name in names)
    return f"$(printf -- '-f %s ' {pattern})"


def _program(nested: "NestedCommand") -> str:
    return _quoted(nested.program)


def _quoted(word: object) -> str:
    return shlex.quote(str(word))
