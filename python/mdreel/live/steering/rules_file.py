"""Files of steering rules."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any

from mdreel.errors import MismatchError
from mdreel.foundation.toml_file import read_toml
from mdreel.foundation.toml_schema import checked, entry, schema_of
from mdreel.live.steering.actions import ALONE, Action
from mdreel.live.steering.rules import Rule

REQUESTS, SIGNALS = "requests", "signals"

SERIES = ("rmsd", "rg", "dihedrals", "contacts", "helices", "sasa", "end-to-end")
"""Types of analyses whose tables have a row for each frame, so that rules can be about them."""

_SIGNALS = ("TERM", "INT", "HUP", "USR1", "USR2", "QUIT")


@dataclass(frozen=True, kw_only=True)
class EngineTable:
    """How the engine is reached."""

    reach: str | None = entry(
        "By requests in the channel, or by a signal.  [default: requests with --channel, else signals]",
        None,
        choices=(REQUESTS, SIGNALS),
    )
    pid: int | None = entry("The process of the engine, where `mdreel steer` has not started it.", None, least=2)
    pid_file: str | None = entry("A file with the number of this process.", None)
    signal: str = entry("What stops it.", "TERM", choices=_SIGNALS)
    checkpoint: str | None = entry("The checkpoint that the engine writes when it is stopped.", None)
    timeout: float | None = entry(
        "How long it may take to do what it is asked, or to end, s.  [default: as long as it runs]", None, least=0
    )

    def __post_init__(self) -> None:
        """Check what goes together.

        Raises
        ------
        MismatchError
            If it does not.
        """
        if self.pid is not None and self.pid_file is not None:
            raise MismatchError("engine: give either pid or pid-file, not both")
        if self.reach == REQUESTS and (self.pid, self.pid_file, self.checkpoint) != (None, None, None):
            raise MismatchError('engine: pid, pid-file and checkpoint are for reach = "signals"')

    @property
    def signal_number(self) -> Signals:
        """What stops it."""
        return Signals[f"SIG{self.signal}"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Rules with their actions, and how the engine is reached; of a file, its tables."""

    rule: tuple[Rule, ...] = entry("The rules.")
    action: tuple[Action, ...] = entry("The actions that need more than their type.", ())
    engine: EngineTable = entry("How the engine is reached.", EngineTable())  # noqa: RUF009 (it cannot be changed)

    def __post_init__(self) -> None:
        """Check that names are there, once.

        Raises
        ------
        MismatchError
            If not.
        """
        if not self.rule:
            raise MismatchError("expected a rule or more")
        _check_once("rule", [rule.name for rule in self.rule])
        _check_once("action", [action.called for action in self.action])
        known = self.actions
        for rule in self.rule:
            for name in rule.actions:
                if name not in known:
                    message = f"unknown action {name!r}; known: {', '.join(known)}"
                    raise MismatchError(f"rule {rule.name!r}: {message}")

    @property
    def actions(self) -> dict[str, Action]:
        """Actions by name."""
        return {name: Action(type=name) for name in ALONE} | {action.called: action for action in self.action}

    def check_reach(self, reach: str) -> None:
        """Refuse actions that the way to the engine does not have.

        Raises
        ------
        MismatchError
            If there is one.
        """
        if reach != SIGNALS:
            return
        known = self.actions
        for rule in self.rule:
            for name in rule.actions:
                if known[name].type in ("checkpoint", "change-stride"):
                    message = f"{known[name].type} needs an engine that is reached by requests, not by signals"
                    raise MismatchError(f"rule {rule.name!r}: action {name!r}: {message}")

    def check_engine(self, reach: str, has_channel: bool, is_started: bool) -> None:
        """Refuse actions that need more of the engine than the plan names.

        Parameters
        ----------
        reach : str
            `REQUESTS` or `SIGNALS`.
        has_channel : bool
            Whether the simulation has a channel.
        is_started : bool
            Whether mdreel starts the engine itself.

        Raises
        ------
        MismatchError
            If there is such an action, or the engine cannot be reached in this way.
        """
        if reach != SIGNALS:
            if not has_channel:
                raise MismatchError("engine: requests reach simulations with a channel, not those that write files")
            return
        table, known = self.engine, self.actions
        has_number = table.pid is not None or table.pid_file is not None
        if is_started and has_number:
            raise MismatchError("engine: its process is the one that is started: leave out pid and pid-file")
        for rule in self.rule:
            for name in rule.actions:
                kind = known[name].type
                if kind == "stop" and not (is_started or has_number):
                    message = "stop needs the engine's process: start it behind --, or say pid or pid-file in [engine]"
                    raise MismatchError(f"rule {rule.name!r}: {message}")
                if kind == "fork" and table.checkpoint is None:
                    raise MismatchError(f"rule {rule.name!r}: fork needs the engine's checkpoint in [engine]")

    def check_analyses(self, names: Iterable[str]) -> None:
        """Refuse rules on analyses that there are not.

        Raises
        ------
        MismatchError
            If there is one.
        """
        known = list(names)
        for rule in self.rule:
            if rule.analysis not in known:
                message = f"unknown analysis {rule.analysis!r}; known: {', '.join(known)}"
                raise MismatchError(f"rule {rule.name!r}: {message}")


def _check_once(what: str, names: list[str]) -> None:
    for name in names:
        if not name or names.count(name) > 1:
            raise MismatchError(f"{what} {name!r}: " + ("there are several of this name" if name else "it has no name"))


def plan_of(where: str, content: Mapping[str, Any]) -> Plan:
    """Make a plan of what a TOML file says.

    Parameters
    ----------
    where : str
        What errors begin with: the file.
    content : mapping
        The tables ``rule``, ``action`` and ``engine``.

    Raises
    ------
    MismatchError
        If something in it is unknown, missing, of a wrong type, or does not go together.
    """
    # A table alone where several may be is a mistake of brackets.
    for name in ("rule", "action"):
        if name in content and not isinstance(content[name], list):
            raise MismatchError(f"{where}: expected tables [[{name}]], got {content[name]!r}")
    if not content.get("rule"):
        raise MismatchError(f"{where}: there is no [[rule]]")
    try:
        return checked(Plan, where, dict(content))
    except MismatchError as error:
        if str(error).startswith(where):
            raise
        raise MismatchError(f"{where}: {error}") from None


def read_plan(path: Path) -> Plan:
    """Read the rules of a file; what it says of analyses and their input is for `mdreel steer`, and not looked at.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    FormatError
        If it is no TOML.
    UnsupportedError
        If other users can change it: it may have commands.
    MismatchError
        As of `plan_of`.
    """
    content = read_toml(path, has_commands=True)
    of_command = ("topology", "trajectory", "run", "analysis")
    return plan_of(str(path), {name: value for name, value in content.items() if name not in of_command})


def check_series(where: str, analysis: Mapping[str, Any]) -> None:
    """Refuse an analysis whose table does not have a row for each frame.

    Parameters
    ----------
    where : str
        The place of the analysis in its file, for messages.
    analysis : mapping
        Its table in the file.

    Raises
    ------
    MismatchError
        If rules cannot be about it.
    """
    kind = analysis.get("type")
    if isinstance(kind, str) and kind not in SERIES:
        message = f"rules are about values of each frame, which these have: {', '.join(SERIES)}; not {kind!r}"
        raise MismatchError(f"{where}: {message}")


def schema_of_plans() -> dict[str, Any]:
    """Return the JSON schema of the tables of a plan."""
    return schema_of(Plan)
