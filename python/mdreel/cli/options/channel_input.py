"""Options of commands that read a channel."""

from typing import Annotated, Literal

from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

Channel = Annotated[
    str | None,
    Option(
        "--channel",
        metavar="NAME",
        group=shared.CHANNEL,
        help="Channel (name or directory) of a running simulation, to read instead of a trajectory.",
    ),
]
Begin = Annotated[
    str | None,
    Option(
        "--start-at",
        metavar="WHERE",
        group=shared.CHANNEL,
        is_advanced=True,
        help="First frame: earliest, latest, or the first from sequence:N, step:N or time:PS on.  [default: earliest]",
    ),
]
Wait = Annotated[
    float | None,
    Option(
        "--wait",
        metavar="SECONDS",
        minimum=0,
        group=shared.CHANNEL,
        is_advanced=True,
        help="Maximum time to wait for the channel to be created.",
    ),
]
NewRun = Annotated[
    bool,
    Option(
        "--new-run",
        group=shared.CHANNEL,
        is_advanced=True,
        help="Wait for the next run if the run of the channel has ended or its producer was lost; as long as --wait "
        "says, else without limit.",
    ),
]
OnLate = Annotated[
    Literal["warn", "raise"] | None,
    Option(
        "--on-late",
        group=shared.CHANNEL,
        is_advanced=True,
        help="If frames of the run had left the channel before the analysis joined: warn, or end with an error.  "
        "[default: warn]",
    ),
]
Timeout = Annotated[
    float | None,
    Option(
        "--timeout",
        metavar="SECONDS",
        minimum=0,
        group=shared.CHANNEL,
        is_advanced=True,
        help="Maximum time to wait for a frame.  [default: as long as the simulation runs]",
    ),
]
Restart = Annotated[
    float | None,
    Option(
        "--restart",
        metavar="SECONDS",
        minimum=0,
        group=shared.CHANNEL,
        is_advanced=True,
        help="Maximum time to wait for a lost simulation to restart.",
    ),
]
Every = Annotated[
    float | None,
    Option(
        "--every",
        metavar="SECONDS",
        minimum=0,
        group=shared.CHANNEL,
        is_advanced=True,
        help="Minimum time between two updates of the outputs; also with --follow.  [default: 1 with --channel]",
    ),
]
