"""Options for commands that create a channel."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options.declare import Option
from mdreel.live.choices import WhenFull

if TYPE_CHECKING:
    from mdreel.live.channels.staging import Staging
    from mdreel.live.producers.groups import Group

CHANNEL = "The channel"

Name = Annotated[str, Option("--channel", metavar="NAME", group=CHANNEL, help="Name or directory of the channel.")]
Consumers = Annotated[
    int,
    Option(
        "--consumers",
        metavar="N",
        minimum=0,
        group=CHANNEL,
        help="Number of consumers to wait for before the first frame.",
    ),
]
Slots = Annotated[
    int | None,
    Option(
        "--slots",
        metavar="N",
        minimum=2,
        group=CHANNEL,
        help="Number of frames in the ring.  [default: 4 to 64, about 16 MiB]",
    ),
]
Full = Annotated[
    WhenFull,
    Option(
        "--full",
        group=CHANNEL,
        help="If the ring is full: wait for the slowest consumer, overwrite the oldest frame, or write the frame "
        "only to --staging.",
    ),
]
Groups = Annotated[
    list[str] | None,
    Option(
        "--group",
        metavar="NAME[:share]",
        group=CHANNEL,
        help="Consumer group to create before the first frame. With --staging, its members receive all frames, "
        "whenever they join. With :share, each frame is delivered to only one member. Can be repeated.",
    ),
]
Memory = Annotated[str, Option("--memory", metavar="BYTES", group=CHANNEL, help="Maximum size of the ring.")]
StagingFolder = Annotated[
    Path | None,
    Option(
        "--staging", metavar="DIR", group=CHANNEL, help="Directory in which frames are also stored, for late consumers."
    ),
]


def parse_groups(given: list[str] | None) -> "list[Group]":
    """Return the consumer groups.

    Raises
    ------
    CommandError
        If the mode of a group is not ``share``.
    """
    from mdreel.live.producers.groups import Group

    found = []
    for text in given or ():
        name, _, mode = text.partition(":")
        if mode not in ("", "share"):
            raise CommandError(f"--group must be NAME or NAME:share, not {text!r}", ExitCode.USAGE)
        found.append(Group(name, share=mode == "share"))
    return found


def make_staging(folder: Path | None, level: str = "file") -> "Staging | None":
    """Return the staging in a folder, or None if there is no folder."""
    from mdreel.live.channels.staging import Staging

    return None if folder is None else Staging(folder, level)
