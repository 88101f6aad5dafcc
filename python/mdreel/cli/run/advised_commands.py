"""Commands that follow a recommendation, which first split the trajectory if necessary, and then run the analysis."""

import os
import shlex
from itertools import count
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from mdreel.cli.trajectory.written_files import EXTENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mdreel.cli.run.nested_command import NestedCommand
    from mdreel.cluster.advice.advice import Advice

_ENDINGS = {"XTC": ".xtc", "TRR": ".trr", "DCD": ".dcd", "NCDF": ".nc", "H5MD": ".h5md"}

# Options that a plan replaces: the number of workers and, after a split, the files.
_WORKERS = ("-nt", "--n-workers")
_INPUTS = ("-f", "--trajectory")

# Maximum number of segments to list one by one; a shell pattern matches a larger number.
_MOST_LISTED = 8


def commands_of(advice: "Advice", nested: "NestedCommand") -> list[str]:
    """Return the commands as lines for a shell.

    Parameters
    ----------
    advice : Advice
        The advice.
    nested : NestedCommand
        The command to which the advice applies.
    """
    plan = advice.plan
    trajectories: Sequence[Path] = nested.request.trajectories
    lines, files = [], ""
    if plan.must_split:
        folder = _folder_for(trajectories[0])
        target = folder / f"{trajectories[0].stem}{_ending(advice, trajectories[0])}"
        inputs = " ".join(f"-f {_quoted(path)}" for path in trajectories)
        lines += [f"mkdir {_quoted(folder)}"]
        lines += [f"{_program(nested)} split {inputs} --n-parts {plan.n_files} -o {_quoted(target)}"]
        files = _segments(target, plan.n_files)
    return [*lines, _run_command(advice, nested, files), *_comments(advice, nested, files)]


def changes_of(advice: "Advice", nested: "NestedCommand") -> list[str]:
    """Return in what way the commands differ from the command that the user asked about."""
    plan, changes = advice.plan, list[str]()
    if plan.must_split:
        folder = _folder_for(nested.request.trajectories[0])
        changes.append(f"the trajectory is first split into {plan.n_files} files in the new folder {folder}")
    if plan.executor == "mpi":
        changes.append(f"mpirun starts {plan.n_workers} processes")
    options = _options(advice)
    if options:
        changes.append(f"options {' '.join(options)}")
    return changes


def _run_command(advice: "Advice", nested: "NestedCommand", files: str) -> str:
    """Return the analysis command with the options of the plan."""
    plan = advice.plan
    launcher = f"mpirun -n {plan.n_workers} " if plan.executor == "mpi" else ""
    left_out = _WORKERS + _INPUTS if files else _WORKERS
    words = [_program(nested), *map(_quoted, _without(nested.arguments, left_out))]
    if files:
        words.append(files)
    return launcher + " ".join([*words, *_options(advice)])


def _options(advice: "Advice") -> list[str]:
    """Return the options of the plan."""
    plan, words = advice.plan, list[str]()
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
    return words


def _comments(advice: "Advice", nested: "NestedCommand", files: str) -> "Iterator[str]":
    """Yield further suggestions, as shell comments."""
    plan, trajectories = advice.plan, nested.request.trajectories
    if plan.n_nodes > 1:
        script = f"{_program(nested)} cluster slurm --nodes {plan.n_nodes} --ntasks-per-node {plan.workers_per_node}"
        command = _run_command(advice, nested, files).split(" ", 3)[-1]
        yield f"# To write a batch script (slurm or pbs): {script} -o job.sh -- {command}"
    if advice.verdict("format").choice == "dcd":
        inputs = " ".join(f"-f {_quoted(path)}" for path in trajectories)
        plain = trajectories[0].with_suffix(".plain.dcd").name
        yield f"# If you analyse this trajectory often: {_program(nested)} convert {inputs} -o {_quoted(plain)}"


def _without(arguments: "Sequence[str]", left_out: tuple[str, ...]) -> "Iterator[str]":
    """Remove options and their values."""
    takes_several = arguments[0] != "run"  # which has an argument of its own
    n_values = 0.0  # of the option so far, that are left out
    for word in arguments:
        if word.startswith("-") and word != "-":
            n_values = 0.0
            if word in left_out:
                n_values = inf if word in _INPUTS and takes_several else 1.0
            elif not any(word.startswith(f"{name}=") for name in left_out if name.startswith("--")):
                yield word
        elif n_values > 0:
            n_values -= 1
        else:
            yield word


def _folder_for(trajectory: Path) -> Path:
    """Return a new folder beside the trajectory, or in the working directory if the former is read-only."""
    place = trajectory.parent if os.access(trajectory.parent, os.W_OK) else Path()
    for number in count(1):
        folder = place / f"{trajectory.stem}-segments{'' if number == 1 else f'-{number}'}"
        if not folder.exists():
            return folder
    raise AssertionError("there is always a next number")


def _ending(advice: "Advice", trajectory: Path) -> str:
    """Return the extension for the segments, which is that of the trajectory if mdreel can write its format."""
    if trajectory.suffix.lower() in EXTENSIONS:
        return trajectory.suffix
    return _ENDINGS.get(advice.sample.format, ".dcd")


def _segments(target: Path, n_files: int) -> str:
    """Return the options that specify all segments, as a list or as a shell pattern."""
    names = [target.with_name(f"{target.stem}-{i:0{len(str(n_files))}}{target.suffix}") for i in range(1, n_files + 1)]
    pattern = f"{target.parent / target.stem}-*{target.suffix}"
    if n_files <= _MOST_LISTED or _quoted(target) != str(target):
        return " ".join(f"-f {_quoted(name)}" for name in names)
    return f"$(printf -- '-f %s ' {pattern})"


def _program(nested: "NestedCommand") -> str:
    return _quoted(nested.program)


def _quoted(word: object) -> str:
    return shlex.quote(str(word))
