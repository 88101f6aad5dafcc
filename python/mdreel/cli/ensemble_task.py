"""Files of ensembles: what they say of replicas and analyses, checked before anything is started."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdreel.cli.analysing import Asked, Request, check_request
from mdreel.cli.exits import CommandError, ExitCode, failing_with
from mdreel.cli.named import named
from mdreel.cli.recipe import asked_in, read_toml, schema_of_recipes

if TYPE_CHECKING:
    from mdreel._core import Source
    from mdreel.analysis.base.analysis import Analysis
    from mdreel.live.ensemble.configuration import EnsembleTable
    from mdreel.live.ensemble.replica_analyses import Inquiry

_OF_ANALYSES = ("topology", "run", "analysis")
_OF_RUN = ("start", "stop", "step", "n-workers", "transform", "center-on")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class EnsembleTask:
    """What a file of an ensemble says.

    Attributes
    ----------
    path : Path
        The file.
    table : EnsembleTable
        What it says of replicas.
    request : Request
        What it says of all analyses.
    asked : dict
        The analyses, by the names of their tables.
    identity : dict
        What must not change between two runs.
    """

    path: Path
    table: "EnsembleTable"
    request: Request
    asked: dict[str, Asked]
    identity: dict[str, Any]

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return self.path.absolute().parent


def read_ensemble(path: Path, *, runs_commands: bool = True) -> EnsembleTask:
    """Read a file of an ensemble and check all that can be checked before a frame is there.

    Where its commands are run, other users must not be able to change it.

    Raises
    ------
    CommandError
        If something in it is unknown, missing, of a wrong type, or does not go together.
    """
    from mdreel.live.ensemble.configuration import EnsembleTable, table_of

    content = read_toml(path, has_commands=runs_commands)
    known = [one.name.replace("_", "-") for one in fields(EnsembleTable)]
    for name in content:
        if name not in (*known, *_OF_ANALYSES):
            message = f"unknown name {name!r}; known: {', '.join((*known, *_OF_ANALYSES))}"
            raise CommandError(f"{path}: {message}", ExitCode.INPUT)
    with failing_with(ExitCode.INPUT):
        table = table_of(str(path), {name: content[name] for name in known if name in content})
    run = content.get("run", {})
    for name in run if isinstance(run, dict) else ():
        if name not in _OF_RUN:
            message = f"unknown name {name!r}; known: {', '.join(_OF_RUN)}"
            raise CommandError(f"{path}: [run]: {message}", ExitCode.INPUT)
    of_analyses = {name: content[name] for name in _OF_ANALYSES if name in content}
    names, rest = named(path, of_analyses, _check_analysis)
    request, asked = asked_in(path, rest, channel="ensemble", quiet=True)
    check_request(request, asked)
    for name, one in zip(names, asked, strict=True):
        if one.written:
            message = "it writes a file besides its table, when it has all frames: not of a running simulation"
            raise CommandError(f"{path}: analysis {name!r}: {message}", ExitCode.INPUT)
    identity = {name: of_analyses.get(name) for name in ("topology", "analysis")}
    identity["run"] = {name: value for name, value in run.items() if name != "n-workers"}
    return EnsembleTask(path, table, request, dict(zip(names, asked, strict=True)), identity)


def inquiry_of(task: EnsembleTask) -> "Inquiry":
    """Open the topology and choose the atoms, once for all replicas.

    Raises
    ------
    CommandError
        If that cannot be done, or an analysis cannot be made of them.
    """
    import numpy as np

    from mdreel._core import Source
    from mdreel.cli.system import open_topology, select
    from mdreel.cli.transforming import transformed
    from mdreel.live.ensemble.replica_analyses import Inquiry

    request, asked = task.request, list(task.asked.values())
    universe = open_topology(request.topology)
    groups = [select(universe, one.selection, request.topology) for one in asked]

    def prepare(source: "Source") -> "Sequence[Analysis]":
        source = transformed(source, universe, request.transforms, request.center_on, request.topology)
        return [one.question.prepare(atoms, source) for one, atoms in zip(asked, groups, strict=True)]

    with failing_with(ExitCode.INPUT):
        # Not for what comes of it: what is wrong with an analysis is wrong for each replica.
        positions = np.zeros((1, len(universe.atoms), 3), np.float32)
        for analysis in prepare(Source.memory(positions, np.zeros(1))):
            if analysis.leaves_file:
                message = f"{type(analysis).__name__} writes a file at its end: not of a running simulation"
                raise CommandError(f"{task.path}: {message}", ExitCode.INPUT)
    wanted = [
        _wanted(name, one, len(atoms), request) for (name, one), atoms in zip(task.asked.items(), groups, strict=True)
    ]
    window = (request.start, request.stop, request.step)
    return Inquiry(tuple(wanted), prepare, window, request.n_workers or 1)


def schema_of_ensemble_files() -> dict[str, Any]:
    """Return the JSON Schema of files of ensembles."""
    from mdreel.live.ensemble.configuration import schema_of_ensembles

    recipe, table = schema_of_recipes(), schema_of_ensembles()
    about = {"type": "string", "description": "What its tables are called.  [default: its type]"}
    for one in recipe["properties"]["analysis"]["items"]["oneOf"]:
        of_each = {name: value for name, value in one["properties"].items() if name not in ("output", "plot", "type")}
        one["properties"] = {"type": one["properties"]["type"], "name": about, **of_each}
    run = recipe["properties"]["run"]
    run["properties"] = {name: run["properties"][name] for name in _OF_RUN}
    of_analyses = {name: recipe["properties"][name] for name in _OF_ANALYSES}
    return {
        **recipe,
        "title": "Ensemble of mdreel",
        "properties": {**table["properties"], **of_analyses},
        "required": [*table["required"], "topology", "analysis"],
    }


def _check_analysis(where: str, one: dict[str, Any]) -> None:
    from mdreel.live.ensemble.result_tables import SUMMARY

    for name in ("output", "plot"):
        if name in one:
            message = f"{name}: an ensemble names its tables itself, by the name of the analysis"
            raise CommandError(f"{where}: {message}", ExitCode.INPUT)
    called = one.get("name", one.get("type"))
    if isinstance(called, str) and (not _NAME.fullmatch(called) or called == SUMMARY):
        allowed = f"up to 64 letters, digits, '.', '_' and '-', and not {SUMMARY!r}"
        raise CommandError(f"{where}: name: expected {allowed}, got {called!r}", ExitCode.INPUT)


def _wanted(name: str, one: Asked, n_atoms: int, request: Request) -> Any:
    from mdreel.live.ensemble.replica_analyses import Wanted

    facts = {"topology": str(request.topology), "selection": one.selection, "n_atoms": n_atoms, **one.question.facts}
    return Wanted(name, one.question.title, lambda analysis: one.question.tabulate(analysis).columns, facts)
