"""``mdreel archive``: the frames of a channel in a file."""

from pathlib import Path
from typing import Annotated

from mdreel.cli.errors import CommandError, ExitCode, checking_output, one_line
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import echo

EXAMPLES = """\
Examples:
  mdreel archive run1 -o run1.xtc --wait 60
  mdreel archive run1 -o run1.h5md --restart 600
  mdreel archive run1 -o run1.h5md --finish

Whoever is killed and starts again with the same command goes on with the file.
"""

ARCHIVING = "Archiving"


@command(examples=EXAMPLES)
def archive(
    channel: Annotated[str, Argument(metavar="CHANNEL", help="The channel: name or directory.")],
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            group=shared.OUTPUT,
            help="The file; .xtc, .trr, .dcd, .nc, .h5md or .h5. It appears when the simulation has ended.",
        ),
    ],
    precision: Annotated[
        float | None,
        Option(
            "--precision",
            metavar="N",
            group=shared.OUTPUT,
            help="For XTC: integers per nm, by default 1000.",
        ),
    ] = None,
    group: Annotated[
        str,
        Option(
            "--group",
            metavar="NAME",
            group=ARCHIVING,
            help="The group that remembers what is in the file. A second archive needs one of its own.",
        ),
    ] = "archive",
    wait: shared.ChannelWait = None,
    restart: shared.ChannelRestart = None,
    timeout: shared.ChannelTimeout = None,
    skip_missed: Annotated[
        bool,
        Option(
            "--skip-missed",
            group=ARCHIVING,
            help="Go on without frames that were overwritten before they were archived.",
        ),
    ] = False,
    finish: Annotated[
        bool,
        Option(
            "--finish",
            group=ARCHIVING,
            help="End the file with what there is where the simulation has failed or was lost.",
        ),
    ] = False,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Write each frame of a channel to a file, once and in order, until the simulation ends."""
    from mdreel.errors import MdreelError, MismatchError
    from mdreel.execution.progress import Progress
    from mdreel.foundation.atomic_files import check_target
    from mdreel.live.archives.archive import archive as archive_channel
    from mdreel.trajectory.output_file import check_settings

    try:
        with checking_output(output):
            check_settings(output, precision)
            check_target(output, force=True)  # an archive that is there may be this one
    except CommandError as error:
        if isinstance(error.__cause__, MismatchError):
            raise CommandError(str(error), ExitCode.USAGE) from error
        raise
    try:
        with Progress(f"channel {channel}", None, enabled=not quiet) as bar:
            archived = archive_channel(
                channel,
                output,
                precision=precision,
                group=group,
                timeout=timeout,
                wait=wait or 0.0,
                restart=restart or 0.0,
                on_missed="skip" if skip_missed else "raise",
                finish=finish,
                force=force,
                progress=bar.update,
            )
    except FileExistsError as error:
        raise CommandError(f"{one_line(error)} (--force replaces it)", ExitCode.USAGE) from error
    except (MdreelError, OSError) as error:
        is_output = isinstance(error, OSError) and error.filename == str(output.resolve())
        raise CommandError(one_line(error), ExitCode.OUTPUT if is_output else ExitCode.INPUT) from error
    if not quiet:
        missed = f", {archived.n_missed:,} missed" if archived.n_missed else ""
        echo(f"{output}: {archived.n_frames:,} frames, {archived.n_bytes * 1e-6:,.3g} MB{missed}", err=True)
