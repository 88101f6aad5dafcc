"""The command ``mdreel channels``, which lists channels and their states."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import align_columns, echo, echo_json
from mdreel.errors import FormatError
from mdreel.foundation.formatting import counted

if TYPE_CHECKING:
    from mdreel.live.channels.status import Status

EXAMPLES = """\
Examples:
  mdreel channels
  mdreel channels run1 --json
  mdreel channels run1 --remove
"""

_HEADINGS = ("channel", "state", "atoms", "frames", "a second", "consumers", "lag", "dropped", "ring")


@command(examples=EXAMPLES)
def channels(
    names: Annotated[
        list[str] | None, Argument(metavar="[NAME]...", help="Names or directories of channels.  [default: all]")
    ] = None,
    seconds: Annotated[
        float,
        Option(
            metavar="SECONDS",
            minimum=0,
            group=shared.OUTPUT,
            help="Time during which rates are measured. Use 0 to skip the measurement.",
        ),
    ] = 0.5,
    remove: Annotated[
        bool, Option(group=shared.OUTPUT, help="Remove the given channels. They must not have a running producer.")
    ] = False,
    as_json: shared.AsJson = False,
) -> None:
    """List channels with their states, frames, rates, consumers and lags. For named channels, also list processes.

    The frames are those of the current run of each channel.
    """
    from mdreel.live.channels.channel import Channel
    from mdreel.live.channels.directory import channels_folder
    from mdreel.live.channels.status import measure_rates, read_channels

    if remove and not names:
        raise CommandError("--remove: give the names of the channels to remove", ExitCode.USAGE)
    with failing_with(ExitCode.INPUT):
        if remove:
            for name in names or ():
                Channel(name).remove()
            return
        seen, unreadable = _read_named(names) if names else read_channels(channels_folder())
        found: Sequence[float | None] = measure_rates(seen, seconds) if seen and seconds else [None] * len(seen)
    if as_json:
        facts = [_facts(status, rate) for status, rate in zip(seen, found, strict=True)]
        echo_json(facts, indent=2, ensure_ascii=True)
    elif seen:
        echo("\n".join(_table(seen, found, with_processes=bool(names))))
    elif not unreadable:
        echo("no channels", err=True)
    if names and unreadable:
        raise CommandError("; ".join(unreadable), ExitCode.INPUT)
    for message in unreadable:
        echo(f"mdreel: {message}", err=True)


def _read_named(names: Sequence[str]) -> "tuple[list[Status], list[str]]":
    """Return the status of channels, and a message for each channel that cannot be read."""
    from mdreel.live.channels.directory import channel_path, describe_other_channels
    from mdreel.live.channels.status import Status, explain_unreadable

    seen, unreadable = [], []
    for name in names:
        path = channel_path(name)
        try:
            seen.append(Status.read(path))
        except FileNotFoundError:
            unreadable.append(f"{path}: the channel does not exist{describe_other_channels(path)}")
        except (FormatError, OSError) as error:
            unreadable.append(explain_unreadable(path, error))
    return seen, unreadable


def _facts(status: "Status", rate: float | None) -> dict[str, Any]:
    """Return the state of a channel for JSON output. Its keys are stable."""
    return {
        "name": status.name,
        "path": str(status.path),
        "state": status.state,
        "reason": status.reason,
        "n_atoms": status.manifest.n_atoms,
        "sections": dict(status.manifest.sections),
        "energies": list(status.manifest.energies),
        "epoch": status.epoch,
        "n_frames": status.n_published,
        "n_frames_of_run": status.n_of_run,
        "frames_per_second": rate,
        "n_consumers": status.n_consumers,
        "lags": list(status.lags),
        "producer": None if status.producer is None else asdict(status.producer),
        "consumers": [asdict(consumer) for consumer in status.consumers],
        "waits": status.waits,
        "ended_at": status.ended_at,
        "n_dropped": status.n_dropped,
        "n_slots": status.n_slots,
        "ring_bytes": status.n_bytes,
    }


def _table(seen: "Sequence[Status]", rates: Sequence[float | None], with_processes: bool) -> Iterator[str]:
    rows = [_HEADINGS, *(_row(status, rate) for status, rate in zip(seen, rates, strict=True))]
    yield from align_columns(rows, left=(0, 1))
    yield from (f"{status.name}: {status.reason}" for status in seen if status.reason)
    yield from (f"{status.name}: {status.waiting}" for status in seen if status.waiting)
    if with_processes:
        for status in seen:
            if status.first_of_run:
                yield f"{status.name}: earlier runs have published {counted(status.first_of_run, 'more frame')}"
            yield from _processes(status)


def _processes(status: "Status") -> Iterator[str]:
    """Yield a line for each process of a channel."""
    if status.producer is not None:
        yield f"{status.name}: producer, {status.producer}"
    for consumer in status.consumers:
        place = "reads staging" if consumer.lag is None else f"lag {consumer.lag:,}"
        place = "takes the latest frame" if consumer.takes_latest else place
        yield f"{status.name}: consumer, {consumer}, {place}"


def _row(status: "Status", rate: float | None) -> tuple[str, ...]:
    return (
        status.name,
        status.state,
        f"{status.manifest.n_atoms:,}",
        f"{status.n_of_run:,}",
        "" if rate is None else f"{rate:,.3g}",
        str(status.n_consumers),
        "" if status.lag is None else f"{status.lag:,}",
        f"{status.n_dropped:,}",
        f"{status.n_slots} slots, {status.n_bytes / 2**20:,.1f} MiB",
    )
