"""``mdreel produce``: a trajectory, published as a simulation would."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.live import channel_options
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import echo

if TYPE_CHECKING:
    from mdreel.live.producers.replay import Pace

EXAMPLES = """\
Examples:
  mdreel produce adk.xtc --channel run1 --rate 1.2
  mdreel produce adk.xtc --channel run1 --rate timestamps
  mdreel produce adk.dcd --channel run1 --rate 50ps --full drop-oldest
"""

PUBLISHING = "Publishing"


@command(examples=EXAMPLES)
def produce(
    trajectories: Annotated[list[Path], Argument(metavar="TRAJECTORY...", help="What is published.")],
    channel: channel_options.Name,
    rate: Annotated[
        str | None,
        Option(
            "--rate",
            metavar="RATE",
            group=PUBLISHING,
            help="Frames a second; or ps a second, as 50ps; or timestamps, which is 1ps.  [default: as fast as can be]",
        ),
    ] = None,
    start: shared.Start = None,
    stop: shared.Stop = None,
    step: shared.Step = None,
    n_consumers: channel_options.Consumers = 0,
    n_slots: channel_options.Slots = None,
    full: channel_options.Full = "block",
    timeout: Annotated[
        float | None,
        Option(
            "--timeout",
            metavar="SECONDS",
            minimum=0,
            group=PUBLISHING,
            help="Fail if there is no room for so long.  [default: wait as long as it takes]",
        ),
    ] = None,
    staging: channel_options.StagingFolder = None,
    fsync: Annotated[
        bool,
        Option(
            "--fsync",
            group=PUBLISHING,
            help="With --staging: frames survive the machine before they are published.",
        ),
    ] = False,
    quiet: shared.Quiet = False,
) -> None:
    """Publish the frames of a trajectory on a channel, as a simulation would; ends the channel."""
    if fsync and staging is None:
        raise CommandError("--fsync: with --staging only", ExitCode.USAGE)
    if min(start or 0, stop or 0) < 0:
        raise CommandError("--start and --stop count from the first frame here", ExitCode.USAGE)

    from mdreel.execution.progress import Progress
    from mdreel.live.channels.staging import Staging
    from mdreel.live.producers.replay import replay
    from mdreel.trajectory.read import read

    with failing_with(ExitCode.INPUT):
        pace = _pace(rate)
        source = read(trajectories)
        frames = range(source.n_frames)[slice(start, stop, step)]
        with Progress(f"channel {channel}", len(frames), enabled=not quiet) as bar:
            n_frames = replay(
                source,
                channel,
                start=start or 0,
                stop=stop,
                step=step or 1,
                pace=pace,
                n_consumers=n_consumers,
                n_slots=n_slots,
                full=full,
                timeout=timeout,
                staging=None if staging is None else Staging(staging, "fsync" if fsync else "file"),
                progress=bar.update,
            )
    if not quiet:
        echo(f"{n_frames:,} frames on channel {channel}", err=True)


def _pace(rate: str | None) -> "Pace | None":
    """Return what was typed."""
    from mdreel.live.producers.replay import Pace

    if rate is None:
        return None
    text = "1ps" if rate == "timestamps" else rate
    try:
        value = float(text.removesuffix("ps"))
    except ValueError:
        message = f"--rate is a number of frames a second, of ps a second as 50ps, or timestamps, not {rate!r}"
        raise CommandError(message, ExitCode.USAGE) from None
    return Pace(time=value) if text.endswith("ps") else Pace(frames=value)
