"""Actions of rules."""

from collections.abc import Mapping
from dataclasses import dataclass

from mdreel.errors import MismatchError
from mdreel.foundation.placeholders import check_placeholders
from mdreel.foundation.toml_schema import entry

TYPES = ("stop", "checkpoint", "fork", "change-stride", "run-command")
ALONE = ("stop", "checkpoint")
"""Those that a rule may name without a table."""

FACTS = ("rule", "action", "sequence", "step", "frame_time", "values", "input", "checkpoint", "seed")
"""What commands are told, as environment variables (``MDREEL_STEP``) and as words (``{step}``)."""

_WITH_COMMAND = ("fork", "run-command")


@dataclass(frozen=True, kw_only=True)
class Action:
    """Something that is done when a rule fires."""

    type: str = entry("What is done.", choices=TYPES)
    name: str | None = entry("What rules call it.  [default: its type]", None)
    command: tuple[str, ...] | None = entry(
        "Of fork and run-command: a program and its arguments, without a shell, run in the folder of the rules.", None
    )
    placeholders: bool = entry("Whether {step}, {checkpoint}, ... in the command stand for the facts.", False)
    wait: bool | None = entry(
        "Whether the command is waited for, and fails with its exit status.  [default: run-command yes, fork no]", None
    )
    timeout: float | None = entry("The longest that it may take, s: the command is ended then.", None, least=0)
    output: str | None = entry(
        "File behind which the command's output goes.  [default: where it is waited for, our own; else NAME.log]", None
    )
    stride: int | None = entry("Of change-stride: steps between two frames.", None, least=1)

    def __post_init__(self) -> None:
        """Check what goes together.

        Raises
        ------
        MismatchError
            If it does not.
        """
        needs = {"command": self.type in _WITH_COMMAND, "stride": self.type == "change-stride"}
        for name, is_needed in needs.items():
            if is_needed != (getattr(self, name) is not None):
                message = f"{name} is missing" if is_needed else f"{name} makes no sense of {self.type}"
                raise MismatchError(f"action {self.called!r}: {message}")
        if self.type not in _WITH_COMMAND:
            of_commands = {"placeholders": self.placeholders, "wait": self.wait, "output": self.output}
            for name, value in of_commands.items():
                if value:
                    raise MismatchError(f"action {self.called!r}: {name} makes no sense of {self.type}")
        if self.timeout is not None and self.timeout == float("inf"):
            raise MismatchError(f"action {self.called!r}: timeout must be a finite number")
        if self.command is not None and not self.command[0]:
            raise MismatchError(f"action {self.called!r}: the command has no program")
        if self.placeholders and self.command is not None:
            check_placeholders(f"action {self.called!r}", self.command, FACTS)

    @property
    def called(self) -> str:
        """Its name."""
        return self.name or self.type

    @property
    def is_waited_for(self) -> bool:
        """Whether its command is waited for."""
        return self.type != "fork" if self.wait is None else self.wait

    def words(self, facts: Mapping[str, str]) -> list[str]:
        """Return the command with the facts in it, where that is wanted.

        Raises
        ------
        MismatchError
            If one of them is not known.
        """
        assert self.command is not None
        if not self.placeholders:
            return list(self.command)
        try:
            return [word.format_map(facts) for word in self.command]
        except KeyError as error:
            message = f"the command wants {error.args[0]}, which is not known"
            raise MismatchError(f"action {self.called!r}: {message}") from None
