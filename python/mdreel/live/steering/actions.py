"""Actions that rules trigger on a simulation."""

from collections.abc import Mapping
from dataclasses import dataclass

from mdreel.errors import MismatchError
from mdreel.foundation.placeholders import check_placeholders
from mdreel.foundation.toml_schema import entry

TYPES = ("stop", "checkpoint", "fork", "change-stride", "run-command")
ALONE = ("stop", "checkpoint")
"""Actions that a rule can use without a table."""

FACTS = ("rule", "action", "sequence", "step", "frame_time", "values", "input", "checkpoint", "seed")
"""Values that commands can use as environment variables (``MDREEL_STEP``) and placeholders (``{step}``)."""

_WITH_COMMAND = ("fork", "run-command")


@dataclass(frozen=True, kw_only=True)
class Action:
    """Action that is carried out when a rule fires."""

    type: str = entry("Type of the action.", choices=TYPES)
    name: str | None = entry("Name by which rules refer to the action.  [default: its type]", None)
    command: tuple[str, ...] | None = entry(
        "For fork and run-command: a program and its arguments, run without a shell in the folder of the rules.", None
    )
    placeholders: bool = entry("Whether {step}, {checkpoint}, ... in the command are replaced by values.", False)
    wait: bool | None = entry(
        "Whether to wait for the command and check its exit status.  [default: run-command yes, fork no]", None
    )
    timeout: float | None = entry("Maximum duration of the command, s; it is ended after that.", None, least=0)
    output: str | None = entry(
        "File to which the command's output is appended.  [default: standard error with wait, else NAME.log]", None
    )
    stride: int | None = entry("For change-stride: steps between two frames.", None, least=1)

    def __post_init__(self) -> None:
        """Check that the entries are consistent."""
        needs = {"command": self.type in _WITH_COMMAND, "stride": self.type == "change-stride"}
        for name, is_needed in needs.items():
            if is_needed != (getattr(self, name) is not None):
                message = f"{name} is missing" if is_needed else f"{name} is not allowed for {self.type}"
                raise MismatchError(f"action {self.label!r}: {message}")
        if self.type not in _WITH_COMMAND:
            of_commands = {"placeholders": self.placeholders, "wait": self.wait, "output": self.output}
            for name, value in of_commands.items():
                if value:
                    raise MismatchError(f"action {self.label!r}: {name} is not allowed for {self.type}")
        if self.timeout is not None and self.timeout == float("inf"):
            raise MismatchError(f"action {self.label!r}: timeout must be a finite number")
        if self.command is not None and not self.command[0]:
            raise MismatchError(f"action {self.label!r}: the command has no program")
        if self.placeholders and self.command is not None:
            check_placeholders(f"action {self.label!r}", self.command, FACTS)

    @property
    def label(self) -> str:
        """Name of the action. By default, its type."""
        return self.name or self.type

    @property
    def is_waited_for(self) -> bool:
        """Whether the steering waits until the command has finished."""
        return self.type != "fork" if self.wait is None else self.wait

    def words(self, facts: Mapping[str, str]) -> list[str]:
        """Return the words of the command, replacing placeholders if this is enabled.

        Raises
        ------
        MismatchError
            If the value of a placeholder is unknown.
        """
        assert self.command is not None
        if not self.placeholders:
            return list(self.command)
        try:
            return [word.format_map(facts) for word in self.command]
        except KeyError as error:
            message = f"the command needs {error.args[0]}, which is unknown"
            raise MismatchError(f"action {self.label!r}: {message}") from None
