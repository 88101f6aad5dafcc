"""The options of commands that read a channel: frames of a running simulation, as they come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mdreel.cli.exits import CommandError, ExitCode

if TYPE_CHECKING:
    from mdreel._core import Source
    from mdreel.live.channels.consumer import Start

CHANNEL = "Reading a channel"

EVERY_SECONDS = 1.0
"""How often outputs of a channel are written, if nobody says."""

Channel = Annotated[
    str | None,
    typer.Option(
        "--channel",
        metavar="NAME",
        rich_help_panel=CHANNEL,
        help="Read frames of this channel, by name or directory, instead of a trajectory.",
    ),
]
Begin = Annotated[
    str | None,
    typer.Option(
        "--start-at",
        metavar="WHERE",
        rich_help_panel=CHANNEL,
        help="First frame: earliest, latest, or sequence:N, step:N, time:PS, or a later one.  [default: earliest]",
    ),
]
Wait = Annotated[
    float | None,
    typer.Option(
        "--wait", metavar="SECONDS", min=0, rich_help_panel=CHANNEL, help="The channel may not be there for so long."
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0,
        rich_help_panel=CHANNEL,
        help="Fail if no frame comes for so long.  [default: wait as long as the simulation is there]",
    ),
]
Restart = Annotated[
    float | None,
    typer.Option(
        "--restart",
        metavar="SECONDS",
        min=0,
        rich_help_panel=CHANNEL,
        help="A simulation that was lost has so long to come back.",
    ),
]
Every = Annotated[
    float | None,
    typer.Option(
        "--every",
        metavar="SECONDS",
        min=0,
        rich_help_panel=CHANNEL,
        help="Write outputs anew as frames come, so often at most; with --follow as well.  [default: 1 with --channel]",
    ),
]


@dataclass(frozen=True)
class FromChannel:
    """What is said of the channel that is read; None where nothing is.

    Attributes
    ----------
    name, begin : str or None
        The channel, and its first frame.
    wait, timeout, restart : float or None
        Times, s.
    """

    name: str | None
    begin: str | None
    wait: float | None
    timeout: float | None
    restart: float | None

    def check(self, trajectories: Sequence[Path], refused: Mapping[str, object]) -> None:
        """Refuse options of which one makes no sense without the other, or not with it.

        Parameters
        ----------
        trajectories : sequence of Path
            The files.
        refused : mapping
            Options that need files, and their values, None or False where they were not given.
        """
        if self.name is None:
            settings = {
                "--start-at": self.begin,
                "--wait": self.wait,
                "--timeout": self.timeout,
                "--restart": self.restart,
            }
            for name, setting in settings.items():
                if setting is not None:
                    raise CommandError(f"{name}: with --channel only", ExitCode.USAGE)
            if not trajectories:
                message = "Missing option '-f' / '--trajectory', or '--channel' (see --help)"
                raise CommandError(message, ExitCode.USAGE)
            return
        if trajectories:
            raise CommandError("give either --trajectory or --channel, not both", ExitCode.USAGE)
        for name, value in refused.items():
            if value is not None and value is not False:
                raise CommandError(f"{name} needs the files of a trajectory, which a channel is not", ExitCode.USAGE)
        self._start()

    def open(self) -> "Source":
        """Join the channel."""
        from mdreel.live.channels.channel import Channel

        assert self.name is not None
        wait, restart = self.wait or 0.0, self.restart or 0.0
        return Channel(self.name, start=self._start(), timeout=self.timeout, wait=wait, restart=restart).source()

    def _start(self) -> "Start":
        text = self.begin or "earliest"
        if text in ("earliest", "latest"):
            return text
        word, _, number = text.partition(":")
        try:
            return word, float(number) if word == "time" else int(number)
        except ValueError:
            message = f"--start-at is earliest, latest, sequence:N, step:N or time:PS, not {text!r}"
            raise CommandError(message, ExitCode.USAGE) from None
