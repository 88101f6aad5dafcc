"""Options of commands that make a channel."""

from pathlib import Path
from typing import Annotated

from mdreel.cli.options.declare import Option
from mdreel.live.choices import WhenFull

CHANNEL = "The channel"


Name = Annotated[
    str,
    Option("--channel", metavar="NAME", group=CHANNEL, help="The channel: name or directory."),
]
Consumers = Annotated[
    int,
    Option(
        "--consumers",
        metavar="N",
        minimum=0,
        group=CHANNEL,
        help="Wait for so many consumers before the first frame.",
    ),
]
Slots = Annotated[
    int | None,
    Option(
        "--slots",
        metavar="N",
        minimum=2,
        group=CHANNEL,
        help="Frames that its ring holds.  [default: 4 to 64, about 16 MiB]",
    ),
]
Full = Annotated[
    WhenFull,
    Option(
        "--full",
        group=CHANNEL,
        help="When the ring is full: wait for the slowest consumer, overwrite the oldest frame, or leave the frame to "
        "--staging.",
    ),
]
Memory = Annotated[str, Option("--memory", metavar="BYTES", group=CHANNEL, help="The most that its ring takes.")]
StagingFolder = Annotated[
    Path | None,
    Option("--staging", metavar="DIR", group=CHANNEL, help="Keep frames here as well, for who comes late."),
]
