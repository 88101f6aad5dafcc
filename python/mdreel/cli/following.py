"""The options of commands that follow a file while it grows."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdreel.cli.exits import CommandError, ExitCode

if TYPE_CHECKING:
    from mdreel._core import Source

FOLLOWING = "Following a file that grows"

Follow = Annotated[
    bool,
    typer.Option(
        "--follow",
        rich_help_panel=FOLLOWING,
        help="Read the trajectory (XTC, TRR, DCD) while it is written; it need not be there yet. Give an end:",
    ),
]
EndFrames = Annotated[
    int | None,
    typer.Option(
        "--end-frames",
        metavar="N",
        min=1,
        rich_help_panel=FOLLOWING,
        help="It ends with N frames; another end before that is an error.",
    ),
]
EndIdle = Annotated[
    float | None,
    typer.Option(
        "--end-idle",
        metavar="SECONDS",
        min=0,
        rich_help_panel=FOLLOWING,
        help="It has ended when nothing was added for so long.",
    ),
]
EndFile = Annotated[
    Path | None,
    typer.Option("--end-file", metavar="FILE", rich_help_panel=FOLLOWING, help="It has ended when there is this file."),
]
EndProcess = Annotated[
    int | None,
    typer.Option(
        "--end-process", metavar="PID", min=1, rich_help_panel=FOLLOWING, help="It has ended when this process has."
    ),
]


def check_following(
    wanted: bool, ends: Mapping[str, object], trajectories: list[Path], refused: Mapping[str, object]
) -> None:
    """Refuse options of which one makes no sense without the other, or not with it.

    Parameters
    ----------
    wanted : bool
        Whether a file is followed.
    ends : mapping
        The ends that were given, None where not.
    trajectories : list of Path
        The files.
    refused : mapping
        Options that need the whole trajectory and their values, None where they were not given.
    """
    if not wanted:
        if any(end is not None for end in ends.values()):
            raise CommandError(
                "--end-frames, --end-idle, --end-file, --end-process: with --follow only", ExitCode.USAGE
            )
        return
    if all(end is None for end in ends.values()):
        message = "--follow needs an end: --end-frames, --end-idle, --end-file or --end-process"
        raise CommandError(message, ExitCode.USAGE)
    if len(trajectories) > 1:
        raise CommandError(f"--follow follows one trajectory, not {len(trajectories)}", ExitCode.USAGE)
    for name, value in refused.items():
        if value is not None:
            message = f"{name} needs the whole trajectory, which a file that is followed is not"
            raise CommandError(message, ExitCode.USAGE)


def open_followed(path: Path, ends: dict[str, Any]) -> "Source":
    """Follow a file; returns when its first frame is there."""
    from mdreel.trajectory.follow import follow

    return follow(path, **ends)
