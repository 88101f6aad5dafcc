"""Rules files for ``mdreel steer``, which are checked before the first frame."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdreel.analysis.recipe import split_names
from mdreel.cli.analyses.recipe import analysis_commands, recipe_format, requests_in, required_path
from mdreel.cli.analyses.request import AnalysisRequest, Request
from mdreel.cli.analyses.runner import check
from mdreel.cli.errors import CommandError, ExitCode, failing_with, one_line
from mdreel.cli.live.running_input import EVERY_SECONDS
from mdreel.errors import MismatchError
from mdreel.foundation.nearest_name import unknown_name
from mdreel.foundation.toml_file import read_toml

if TYPE_CHECKING:
    from mdreel.live.steering.rules_file import Plan

_TABLES = ("rule", "action", "engine")
_KNOWN = (*_TABLES, "analysis", "run", "topology", "trajectory", "index")


@dataclass(frozen=True)
class RulesFile:
    """Validated rules file, together with the options of the command.

    Attributes
    ----------
    path : Path
        The file.
    request : Request
        Input and options of the command.
    analyses : dict
        Analyses by the names that rules use.
    plan : Plan
        Rules and actions.
    """

    path: Path
    request: Request
    analyses: dict[str, AnalysisRequest]
    plan: "Plan"

    @property
    def reach(self) -> str:
        """How the engine is controlled: by requests or by signals."""
        from mdreel.live.steering.rules_file import REQUESTS, SIGNALS

        return self.plan.engine.reach or (SIGNALS if self.request.channel is None else REQUESTS)


def read_steering(path: Path | None, has_engine: bool, **of_command: Any) -> RulesFile:
    """Read a rules file and check everything that can be checked before the first frame.

    Raises
    ------
    CommandError
        If an entry is unknown, missing, has the wrong type, or contradicts another entry.
    """
    path = required_path(path, "name the rules file (mdreel steer rules.toml)")

    from mdreel.live.steering.rules_file import check_series, parse_plan

    with failing_with(ExitCode.INPUT):
        content = read_toml(path, has_commands=True)
        for name in content:
            if name not in _KNOWN:
                raise MismatchError(f"{path}: {unknown_name(name, _KNOWN)}")
        plan = parse_plan(str(path), {name: content[name] for name in _TABLES if name in content})
    rest = {name: value for name, value in content.items() if name not in _TABLES}
    with failing_with(ExitCode.INPUT):
        names, rest = split_names(path, rest, check_series)
    request, analyses = requests_in(path, rest, **of_command)
    if request.follow and request.every is None:
        request = replace(request, every=EVERY_SECONDS)
    if request.units != "A" or request.time_unit is not None:
        message = "rules compare values in Å and ps: leave out units and time-unit"
        raise CommandError(f"{path}: [run]: {message}", ExitCode.INPUT)
    if request.channel is None and not request.follow:
        raise CommandError("name the running simulation: --channel, or -f with --follow", ExitCode.USAGE)
    task = RulesFile(path, request, dict(zip(names, analyses, strict=True)), plan)
    with _in_file(path):
        plan.check_analyses(names)
        plan.check_reach(task.reach)
        plan.check_engine(task.reach, request.channel is not None, has_engine)
    check(request, analyses)
    return task


def steering_schema() -> dict[str, Any]:
    """Return the JSON schema for rules files."""
    from mdreel.live.steering.rules_file import SERIES, plan_schema

    recipe, plan = recipe_format(analysis_commands()).schema(), plan_schema()
    for name in ("units", "time-unit"):  # rules compare values in Å and ps
        del recipe["properties"]["run"]["properties"][name]
    each = recipe["properties"]["analysis"]["items"]["oneOf"]
    about = {"type": "string", "description": "Name by which rules refer to the analysis.  [default: its type]"}
    known = [one for one in each if one["properties"]["type"]["const"] in SERIES]
    for one in known:
        one["properties"] = {"type": one["properties"]["type"], "name": about, **one["properties"]}
    recipe["properties"]["analysis"]["items"]["oneOf"] = known
    tables = plan["properties"]
    for name in ("rule", "action"):
        description = tables[name].pop("description")
        (several,) = [kind for kind in tables[name]["anyOf"] if kind["type"] == "array"]
        tables[name] = {**several, "description": description}
    return {
        **recipe,
        "title": "Rules of mdreel steer",
        "properties": {**recipe["properties"], **tables},
        "required": ["analysis", "rule"],
    }


@contextmanager
def _in_file(path: Path) -> Iterator[None]:
    """Add the name of the file to error messages."""
    try:
        yield
    except MismatchError as error:
        raise CommandError(f"{path}: {one_line(error)}", ExitCode.INPUT) from error
