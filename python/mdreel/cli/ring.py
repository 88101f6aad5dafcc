"""The options of commands that make a channel: its ring, and its staging."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

CHANNEL = "The channel"


class Full(StrEnum):
    """What happens when a ring is full."""

    BLOCK = "block"
    DROP_OLDEST = "drop-oldest"
    SPILL = "spill"


Name = Annotated[
    str,
    typer.Option("--channel", metavar="NAME", rich_help_panel=CHANNEL, help="The channel: name or directory."),
]
Consumers = Annotated[
    int,
    typer.Option(
        "--consumers",
        metavar="N",
        min=0,
        rich_help_panel=CHANNEL,
        help="Wait for so many consumers before the first frame.",
    ),
]
Slots = Annotated[
    int | None,
    typer.Option(
        "--slots",
        metavar="N",
        min=2,
        rich_help_panel=CHANNEL,
        help="Frames that its ring holds.  [default: 4 to 64, about 16 MiB]",
    ),
]
FullOption = Annotated[
    Full,
    typer.Option(
        "--full",
        rich_help_panel=CHANNEL,
        help="When the ring is full: wait for the slowest consumer, overwrite the oldest frame, or leave the frame to "
        "--staging.",
    ),
]
Memory = Annotated[
    str, typer.Option("--memory", metavar="BYTES", rich_help_panel=CHANNEL, help="The most that its ring takes.")
]
StagingFolder = Annotated[
    Path | None,
    typer.Option(
        "--staging", metavar="DIR", rich_help_panel=CHANNEL, help="Keep frames here as well, for who comes late."
    ),
]
