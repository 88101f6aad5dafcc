"""The command ``mdreel produce``, which publishes a trajectory as a simulation would."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.live import channel_options
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option, command
from mdreel.cli.output import echo
from mdreel.cli.trajectory.input_files import Files, input_files

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
    *,
    files: Files = None,
    trajectories: shared.OptionalTrajectories = None,
    channel: channel_options.Name,
    rate: Annotated[
        str | None,
        Option(
            metavar="RATE",
            group=PUBLISHING,
            help="Frames per second, or ps per second such as 50ps, or timestamps (1ps).  [default: no limit]",
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
            metavar="SECONDS",
            minimum=0,
            group=PUBLISHING,
            help="Maximum time to wait for a free slot in the ring.  [default: no limit]",
        ),
    ] = None,
    groups: channel_options.Groups = None,
    staging: channel_options.StagingFolder = None,
    fsync: Annotated[
        bool, Option(group=PUBLISHING, help="With --staging: make published frames survive a crash of the machine.")
    ] = False,
    quiet: shared.Quiet = False,
) -> None:
    """Publish the frames of a trajectory on a channel, as a simulation would, and end the channel."""
    trajectories = input_files(files, trajectories)
    if fsync and staging is None:
        raise CommandError("--fsync requires --staging", ExitCode.USAGE)
    if min(start or 0, stop or 0) < 0:
        raise CommandError("--start and --stop must not be negative", ExitCode.USAGE)

    declared = channel_options.parse_groups(groups)

    from mdreel.execution.progress import Progress
    from mdreel.live.producers.replay import replay
    from mdreel.trajectory.open import open as open_trajectory

    with failing_with(ExitCode.INPUT):
        pace = _pace(rate)
        source = open_trajectory(trajectories)
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
                groups=declared,
                staging=channel_options.make_staging(staging, "fsync" if fsync else "file"),
                progress=bar.update,
            )
    if not quiet:
        echo(f"{n_frames:,} frames on channel {channel}", err=True)


def _pace(rate: str | None) -> "Pace | None":
    """Parse the value of --rate."""
    from mdreel.live.producers.replay import Pace

    if rate is None:
        return None
    text = "1ps" if rate == "timestamps" else rate
    try:
        value = float(text.removesuffix("ps"))
    except ValueError:
        message = f"--rate must be frames per second, ps per second such as 50ps, or timestamps, not {rate!r}"
        raise CommandError(message, ExitCode.USAGE) from None
    return Pace(time=value) if text.endswith("ps") else Pace(frames=value)
