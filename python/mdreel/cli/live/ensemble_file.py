"""Ensemble files, which are checked before a simulation is started."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdreel.analysis.recipe import split_names
from mdreel.cli.analyses.recipe import analysis_commands, recipe_format, requests_in
from mdreel.cli.analyses.request import AnalysisRequest, Request
from mdreel.cli.analyses.runner import check
from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.foundation.nearest_name import unknown_name
from mdreel.foundation.toml_file import read_toml

if TYPE_CHECKING:
    from mdreel._core import Source
    from mdreel.analysis.base.analysis import Analysis
    from mdreel.live.ensemble.configuration import EnsembleTable
    from mdreel.live.ensemble.replica_analyses import ReplicaAnalyses

_OF_ANALYSES = ("topology", "index", "run", "analysis")
_OF_RUN = ("start", "stop", "step", "n-workers", "transform", "center-on")


@dataclass(frozen=True)
class EnsembleFile:
    """Validated ensemble file.

    Attributes
    ----------
    path : Path
        The file.
    table : EnsembleTable
        Entries about the replicas.
    request : Request
        Input and options of all analyses.
    analyses : dict
        Analyses by the names of their tables.
    identity : dict
        Settings that must not be changed between two runs.
    """

    path: Path
    table: "EnsembleTable"
    request: Request
    analyses: dict[str, AnalysisRequest]
    identity: dict[str, Any]

    @property
    def folder(self) -> Path:
        """Folder of the file."""
        return self.path.absolute().parent


def read_ensemble(path: Path, *, runs_commands: bool = True) -> EnsembleFile:
    """Read an ensemble file and check everything that can be checked before the first frame.

    If `runs_commands` is true, other users must not be able to modify the file.

    Raises
    ------
    CommandError
        If an entry is unknown, missing, has the wrong type, or contradicts another entry.
    """
    from mdreel.live.ensemble.configuration import EnsembleTable, check_analysis, parse_ensemble

    with failing_with(ExitCode.INPUT):
        content = read_toml(path, has_commands=runs_commands)
    known = [one.name.replace("_", "-") for one in fields(EnsembleTable)]
    for name in content:
        if name not in (*known, *_OF_ANALYSES):
            message = unknown_name(name, (*known, *_OF_ANALYSES))
            raise CommandError(f"{path}: {message}", ExitCode.INPUT)
    with failing_with(ExitCode.INPUT):
        table = parse_ensemble(str(path), {name: content[name] for name in known if name in content})
    run = content.get("run", {})
    for name in run if isinstance(run, dict) else ():
        if name not in _OF_RUN:
            message = unknown_name(name, _OF_RUN)
            raise CommandError(f"{path}: [run]: {message}", ExitCode.INPUT)
    of_analyses = {name: content[name] for name in _OF_ANALYSES if name in content}
    with failing_with(ExitCode.INPUT):
        names, rest = split_names(path, of_analyses, check_analysis)
    request, analyses = requests_in(path, rest, channel="ensemble", quiet=True)
    check(request, analyses)
    for name, one in zip(names, analyses, strict=True):
        if one.written:
            message = "it writes a file at its end, which needs a finished simulation"
            raise CommandError(f"{path}: analysis {name!r}: {message}", ExitCode.INPUT)
    identity = {
        name: of_analyses.get(name)
        for name in ("topology", "index", "analysis")
        if name in of_analyses or name != "index"
    }
    identity["run"] = {name: value for name, value in run.items() if name != "n-workers"}
    return EnsembleFile(path, table, request, dict(zip(names, analyses, strict=True)), identity)


def make_analyses(task: EnsembleFile) -> "ReplicaAnalyses":
    """Open the topology and select the atoms, once for all replicas.

    Raises
    ------
    CommandError
        If the topology or a selection is invalid, or if an analysis does not support running simulations.
    """
    import numpy as np

    from mdreel._core import Source
    from mdreel.analysis.named_transformations import transformed_by_name
    from mdreel.analysis.topology.topology_file import open_topology, select_atoms
    from mdreel.live.ensemble.replica_analyses import ReplicaAnalyses

    request, analyses = task.request, list(task.analyses.values())
    with failing_with(ExitCode.INPUT):
        universe = open_topology(request.topology, request.index)
        groups = [select_atoms(universe, one.selection, request.topology) for one in analyses]

    def prepare(source: "Source") -> "Sequence[Analysis]":
        source = transformed_by_name(source, universe, request.transforms or (), request.center_on, request.topology)
        return [one.spec.prepare(atoms, source) for one, atoms in zip(analyses, groups, strict=True)]

    with failing_with(ExitCode.INPUT):
        # Prepare the analyses once for one frame, to find errors before a simulation starts.
        positions = np.zeros((1, len(universe.atoms), 3), np.float32)
        for analysis in prepare(Source.memory(positions, np.zeros(1))):
            if analysis.writes_file:
                message = f"{type(analysis).__name__} writes a file at its end, which needs a finished simulation"
                raise CommandError(f"{task.path}: {message}", ExitCode.INPUT)
    wanted = [
        _replica_analysis(name, one, len(atoms), request)
        for (name, one), atoms in zip(task.analyses.items(), groups, strict=True)
    ]
    window = (request.start, request.stop, request.step)
    return ReplicaAnalyses(tuple(wanted), prepare, window, request.n_workers or 1)


def ensemble_file_schema() -> dict[str, Any]:
    """Return the JSON schema for ensemble files."""
    from mdreel.live.ensemble.configuration import ensemble_schema

    recipe, table = recipe_format(analysis_commands()).schema(), ensemble_schema()
    about = {"type": "string", "description": "Name of the tables.  [default: the type of the analysis]"}
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


def _replica_analysis(name: str, one: AnalysisRequest, n_atoms: int, request: Request) -> Any:
    from mdreel.live.ensemble.replica_analyses import ReplicaAnalysis

    facts = {"topology": str(request.topology), "selection": one.selection, "n_atoms": n_atoms, **one.spec.facts}
    return ReplicaAnalysis(name, one.spec.title, lambda analysis: one.spec.tabulate(analysis).columns, facts)
