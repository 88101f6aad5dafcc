"""Files that contain steering rules."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any

from mdreel.errors import MismatchError
from mdreel.foundation.nearest_name import unknown_name
from mdreel.foundation.toml_file import read_toml
from mdreel.foundation.toml_schema import checked_file, entry, schema_of
from mdreel.live.steering.actions import ALONE, Action
from mdreel.live.steering.rules import Rule

REQUESTS, SIGNALS = "requests", "signals"

SERIES = ("rmsd", "rg", "dihedrals", "dihedral", "ramachandran", "janin", "contacts", "helices", "sasa", "end-to-end")
"""Types of analyses that rules can check, because their tables have one row per frame."""

_SIGNALS = ("TERM", "INT", "HUP", "USR1", "USR2", "QUIT")


@dataclass(frozen=True, kw_only=True)
class EngineTable:
    """Settings for the control of the engine."""

    reach: str | None = entry(
        "Control by requests in the channel or by signals.  [default: requests with --channel, else signals]",
        None,
        choices=(REQUESTS, SIGNALS),
    )
    pid: int | None = entry("Process ID of the engine, if `mdreel steer` does not start it.", None, least=2)
    pid_file: str | None = entry("File with this process ID.", None)
    signal: str = entry("Signal that stops the engine.", "TERM", choices=_SIGNALS)
    checkpoint: str | None = entry("Checkpoint that the engine writes when it is stopped.", None)
    timeout: float | None = entry(
        "Maximum time to wait for an action or for the end of the engine, s.  [default: unlimited]", None, least=0
    )

    def __post_init__(self) -> None:
        """Check that the entries are consistent. Raise MismatchError if they contradict each other."""
        if self.pid is not None and self.pid_file is not None:
            raise MismatchError("engine: give either pid or pid-file, not both")
        if self.reach == REQUESTS and (self.pid, self.pid_file, self.checkpoint) != (None, None, None):
            raise MismatchError('engine: pid, pid-file and checkpoint are for reach = "signals"')

    @property
    def signal_number(self) -> Signals:
        """Signal that stops the engine."""
        return Signals[f"SIG{self.signal}"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Rules, actions and engine settings, which correspond to the tables of a rules file."""

    rule: tuple[Rule, ...] = entry("Rules.")
    action: tuple[Action, ...] = entry("Actions that need more than their type.", ())
    engine: EngineTable = entry("Control of the engine.", EngineTable())  # noqa: RUF009 (immutable)

    def __post_init__(self) -> None:
        """Check that all names are unique and known."""
        if not self.rule:
            raise MismatchError("expected at least one rule")
        _check_once("rule", [rule.name for rule in self.rule])
        _check_once("action", [action.label for action in self.action])
        known = self.actions
        for rule in self.rule:
            for name in rule.actions:
                if name not in known:
                    message = unknown_name(name, known, "action")
                    raise MismatchError(f"rule {rule.name!r}: {message}")

    @property
    def actions(self) -> dict[str, Action]:
        """Actions by name."""
        return {name: Action(type=name) for name in ALONE} | {action.label: action for action in self.action}

    def check_reach(self, reach: str) -> None:
        """Check that the engine supports all actions."""
        if reach != SIGNALS:
            return
        known = self.actions
        for rule in self.rule:
            for name in rule.actions:
                if known[name].type in ("checkpoint", "change-stride"):
                    message = f"{known[name].type} requires an engine that is controlled by requests, not by signals"
                    raise MismatchError(f"rule {rule.name!r}: action {name!r}: {message}")

    def check_engine(self, reach: str, has_channel: bool, is_started: bool) -> None:
        """Check that the plan contains all information about the engine that is required by its actions.

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
            If information is missing, or if the engine cannot be controlled in this way.
        """
        if reach != SIGNALS:
            if not has_channel:
                raise MismatchError(
                    'engine: control by requests requires a channel; use reach = "signals" for engines that write files'
                )
            return
        table, known = self.engine, self.actions
        has_number = table.pid is not None or table.pid_file is not None
        if is_started and has_number:
            raise MismatchError("engine: remove pid and pid-file, because mdreel starts the engine")
        for rule in self.rule:
            for name in rule.actions:
                kind = known[name].type
                if kind == "stop" and not (is_started or has_number):
                    message = (
                        "stop needs the engine's process; start the engine after --, or set pid or pid-file in [engine]"
                    )
                    raise MismatchError(f"rule {rule.name!r}: {message}")
                if kind == "fork" and table.checkpoint is None:
                    raise MismatchError(
                        f"rule {rule.name!r}: fork needs the engine's checkpoint; set checkpoint in [engine]"
                    )

    def check_analyses(self, names: Iterable[str]) -> None:
        """Check that the analyses of all rules exist."""
        known = list(names)
        for rule in self.rule:
            if rule.analysis not in known:
                message = unknown_name(rule.analysis, known, "analysis")
                raise MismatchError(f"rule {rule.name!r}: {message}")


def _check_once(what: str, names: list[str]) -> None:
    for name in names:
        if not name or names.count(name) > 1:
            raise MismatchError(f"{what} {name!r}: " + ("several have this name" if name else "the name is empty"))


def parse_plan(where: str, content: Mapping[str, Any]) -> Plan:
    """Validate the tables of a rules file.

    Parameters
    ----------
    where : str
        Name of the file, which is used at the beginning of error messages.
    content : mapping
        The tables ``rule``, ``action`` and ``engine``.

    Raises
    ------
    MismatchError
        If an entry is unknown, missing, has the wrong type, or contradicts another entry.
    """
    # A single table means that the second pair of brackets is missing.
    for name in ("rule", "action"):
        if name in content and not isinstance(content[name], list):
            raise MismatchError(f"{where}: expected tables [[{name}]], got {content[name]!r}")
    if not content.get("rule"):
        raise MismatchError(f"{where}: expected at least one [[rule]]")
    return checked_file(Plan, where, content)


def read_plan(path: Path) -> Plan:
    """Read the rules from a file, ignoring the analyses and their input.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    FormatError
        If the file is not valid TOML.
    UnsupportedError
        If other users can modify the file, which can contain commands.
    MismatchError
        See `parse_plan`.
    """
    content = read_toml(path, has_commands=True)
    of_command = ("topology", "trajectory", "run", "analysis")
    return parse_plan(str(path), {name: value for name, value in content.items() if name not in of_command})


def check_series(where: str, analysis: Mapping[str, Any]) -> None:
    """Raise MismatchError if the table of an analysis does not have one row per frame."""
    kind = analysis.get("type")
    if isinstance(kind, str) and kind not in SERIES:
        message = f"rules need values of each frame; expected one of {', '.join(SERIES)}, got {kind!r}"
        raise MismatchError(f"{where}: {message}")


def plan_schema() -> dict[str, Any]:
    """Return the JSON schema for the tables of a plan."""
    return schema_of(Plan)
