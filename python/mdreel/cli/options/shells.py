"""Options of commands that evaluate a selection in each frame."""

from typing import Annotated

from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options.declare import Option

Dynamic = Annotated[
    str | None,
    Option(
        "--dynamic",
        metavar="SELECTION",
        help="Selection that is evaluated in each frame, among the atoms of --select. Required.",
    ),
]
TauMax = Annotated[int, Option("--tau-max", metavar="N", minimum=1, help="Longest lag, in frames.")]


def checked_dynamic(dynamic: str | None) -> str:
    """Return the selection of ``--dynamic``, or report that it is missing."""
    if dynamic is None:
        raise CommandError("--dynamic is required: the selection that mdreel evaluates in each frame", ExitCode.USAGE)
    return dynamic
