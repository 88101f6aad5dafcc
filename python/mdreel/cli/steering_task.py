"""Files of rules: what they say of analyses, rules and the engine, checked before a frame is there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdreel.cli import from_channel
from mdreel.cli.analysing import Asked, Request, check_request
from mdreel.cli.exits import CommandError, ExitCode, failing_with, one_line
from mdreel.cli.named import named
from mdreel.cli.recipe import asked_in, read_toml, schema_of_recipes

if TYPE_CHECKING:
    from mdreel.live.steering.rules_file import Plan

SERIES = ("rmsd", "rg", "dihedrals", "contacts", "helices", "sasa", "end-to-end")
"""Analyses whose tables have a line for each frame."""

_TABLES = ("rule", "action", "engine")


@dataclass(frozen=True)
class SteeringTask:
    """What a file of rules and the command say.

    Attributes
    ----------
    path : Path
        The file.
    request : Request
        The input.
    asked : dict
        The analyses, by the names that rules use.
    plan : Plan
        Rules and actions.
    """

    path: Path
    request: Request
    asked: dict[str, Asked]
    plan: "Plan"

    @property
    def reach(self) -> str:
        """How the engine is reached."""
        from mdreel.live.steering.rules_file import REQUESTS, SIGNALS

        return self.plan.engine.reach or (SIGNALS if self.request.channel is None else REQUESTS)


def read_steering(path: Path | None, has_engine: bool, **of_command: Any) -> SteeringTask:
    """Read a file of rules and check all that can be checked before a frame is there.

    Raises
    ------
    CommandError
        If something in it is unknown, missing, of a wrong type, or does not go together.
    """
    if path is None:
        raise CommandError("which rules? (mdreel steer rules.toml)", ExitCode.USAGE)

    from mdreel.live.steering.rules_file import plan_of

    content = read_toml(path, has_commands=True)
    with failing_with(ExitCode.INPUT):
        plan = plan_of(str(path), {name: content[name] for name in _TABLES if name in content})
    rest = {name: value for name, value in content.items() if name not in _TABLES}
    names, rest = named(path, rest, _check_series)
    request, asked = asked_in(path, rest, **of_command)
    if request.follow and request.every is None:
        request = replace(request, every=from_channel.EVERY_SECONDS)
    if request.channel is None and not request.follow:
        raise CommandError("what is running? give --channel, or -f with --follow", ExitCode.USAGE)
    task = SteeringTask(path, request, dict(zip(names, asked, strict=True)), plan)
    with _in_file(path):
        plan.check_analyses(names)
        plan.check_reach(task.reach)
        _check_engine(task, has_engine)
    check_request(request, asked)
    return task


def schema_of_steering() -> dict[str, Any]:
    """Return the JSON Schema of files of rules."""
    from mdreel.live.steering.rules_file import schema_of_plans

    recipe, plan = schema_of_recipes(), schema_of_plans()
    each = recipe["properties"]["analysis"]["items"]["oneOf"]
    about = {"type": "string", "description": "What rules call it.  [default: its type]"}
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


def _check_series(where: str, one: dict[str, Any]) -> None:
    kind = one.get("type")
    if isinstance(kind, str) and kind not in SERIES:
        message = f"rules are about values of each frame, which these have: {', '.join(SERIES)}; not {kind!r}"
        raise CommandError(f"{where}: {message}", ExitCode.INPUT)


@contextmanager
def _in_file(path: Path) -> Iterator[None]:
    """Say in which file it is what does not go together."""
    from mdreel.errors import MismatchError

    try:
        yield
    except MismatchError as error:
        raise CommandError(f"{path}: {one_line(error)}", ExitCode.INPUT) from error


def _check_engine(task: SteeringTask, has_engine: bool) -> None:
    """Refuse actions for which something must be known of the engine, and is not."""
    from mdreel.errors import MismatchError
    from mdreel.live.steering.rules_file import SIGNALS

    table = task.plan.engine
    if task.reach != SIGNALS:
        if task.request.channel is None:
            raise MismatchError("engine: requests reach simulations with a channel, not those that write files")
        return
    has_process = has_engine or table.pid is not None or table.pid_file is not None
    if has_engine and (table.pid is not None or table.pid_file is not None):
        raise MismatchError("engine: its process is the one that is started: leave out pid and pid-file")
    known = task.plan.actions
    for rule in task.plan.rule:
        for name in rule.actions:
            kind = known[name].type
            if kind == "stop" and not has_process:
                message = "stop needs the engine's process: start it behind --, or say pid or pid-file in [engine]"
                raise MismatchError(f"rule {rule.name!r}: {message}")
            if kind == "fork" and table.checkpoint is None:
                raise MismatchError(f"rule {rule.name!r}: fork needs the engine's checkpoint in [engine]")
