"""The command ``mdreel archive``, which writes the frames of a channel to a file."""

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

If the archiver is killed, run the same command again; it continues the file.
"""

ARCHIVING = "Archiving"


@command(examples=EXAMPLES)
def archive(
    channel: Annotated[str, Argument(metavar="CHANNEL", help="Name or directory of the channel.")],
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            group=shared.OUTPUT,
            help="Output file: .xtc .trr .dcd .nc .h5md .h5. It appears after the simulation has ended.",
        ),
    ],
    precision: Annotated[
        float | None,
        Option(metavar="N", group=shared.OUTPUT, help="Precision of XTC files, in integers per nm.  [default: 1000]"),
    ] = None,
    group: Annotated[
        str,
        Option(
            metavar="NAME",
            group=ARCHIVING,
            help="Consumer group that records which frames are in the file. Each archive needs its own group.",
        ),
    ] = "archive",
    wait: shared.ChannelWait = None,
    restart: shared.ChannelRestart = None,
    timeout: shared.ChannelTimeout = None,
    skip_missed: Annotated[
        bool, Option(group=ARCHIVING, help="Continue if frames were overwritten before they were archived.")
    ] = False,
    finish: Annotated[
        bool,
        Option(
            group=ARCHIVING,
            help="Complete the file with the available frames if the simulation has failed or was lost.",
        ),
    ] = False,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
) -> None:
    """Write each frame of a channel to a file, once and in order, until the simulation ends."""
    from mdreel.cli.live.running_input import announce_wait
    from mdreel.errors import MdreelError, MismatchError
    from mdreel.execution.progress import Progress
    from mdreel.foundation.atomic_files import check_target
    from mdreel.live.archives.archive import archive as archive_channel
    from mdreel.trajectory.output_file import check_settings

    try:
        with checking_output(output):
            check_settings(output, precision)
            check_target(output, force=True)  # an existing archive may be the one to continue
    except CommandError as error:
        if isinstance(error.__cause__, MismatchError):
            raise CommandError(str(error), ExitCode.USAGE) from error
        raise
    announce_wait(channel, wait or 0.0, quiet)
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
        raise CommandError(one_line(error), ExitCode.USAGE) from error
    except (MdreelError, OSError) as error:
        is_output = isinstance(error, OSError) and error.filename == str(output.resolve())
        raise CommandError(one_line(error), ExitCode.OUTPUT if is_output else ExitCode.INPUT) from error
    if not quiet:
        missed = f", {archived.n_missed:,} missed" if archived.n_missed else ""
        echo(f"{output}: {archived.n_frames:,} frames, {archived.n_bytes * 1e-6:,.3g} MB{missed}", err=True)
