"""Simulation of the fault run, which publishes frames, writes checkpoints and goes on from the last one."""

import errno
import random
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import far_channels as far
from fault_run.cast import LAST_FRAMES, LONG, Channel, Place, channel_named
from fault_run.journal import STEPS_PER_FRAME, Journal, Put
from mdreel.live.archives.options import Archive
from mdreel.live.channels.directory import channel_path
from mdreel.live.producers.groups import Group
from mdreel.live.producers.producer import Producer

FRAMES_PER_SECOND = 40.0
_LONGEST_PAUSE = 0.2
_FRAMES_PER_CHECKPOINT = 8
_AGAIN = 0.02

T = TypeVar("T")


def simulate(actor: dict[str, Any], place: Place, journal: Journal) -> None:
    """Publish frames until the round asks to finish."""
    channel, name = channel_named(actor["channel"]), place.channel(actor["channel"])
    checkpoint = StoredNumber(place.folder / f"{actor['name']}.checkpoint")
    last = StoredNumber(place.folder / f"{actor['name']}.last")
    frame = checkpoint.read() or 0
    # A channel that is there had a producer that has died. Without a checkpoint, its run begins at step 0 again.
    resume_step = STEPS_PER_FRAME * frame if channel_path(name).exists() else None
    options = _options(channel, actor["host"], place)

    def opened() -> Producer:
        return Producer(name, channel.n_atoms, resume_step=resume_step, timeout=LONG, **options).open()

    producer = despite_full_disk(opened, journal)
    journal.event("opened", epoch=producer.epoch, resume_step=resume_step)
    pauses = random.Random(f"{name} {frame}")
    behind = last.read()
    while behind is None or frame < behind:
        if behind is None and place.finish.exists():
            behind = frame + LAST_FRAMES
            last.write(behind)
        _publish(producer, frame, journal)
        frame += 1
        if frame % _FRAMES_PER_CHECKPOINT == 0:
            checkpoint.write(frame)
        time.sleep(min(pauses.expovariate(FRAMES_PER_SECOND), _LONGEST_PAUSE))
    producer.end()
    journal.event("ended", n_frames=frame)


def _options(channel: Channel, host: str, place: Place) -> dict[str, Any]:
    options: dict[str, Any] = {"n_slots": channel.n_slots, "full": channel.full}
    if channel.staging is not None:
        options["staging"] = place.staging(channel.name, host, channel.staging)
    if channel.own_archive is not None:
        options["archive"] = Archive(place.archive(channel.own_archive), group="own")
    groups = [Group(group.name, group.share) for group in channel.groups_on(host)]
    archives = [Group("archive") for archive_host, _, _ in channel.archives if archive_host == host]
    return {**options, "groups": groups + archives}


def _publish(producer: Producer, frame: int, journal: Journal) -> None:
    """Publish a frame, and record how long the attempt took with which it was taken."""
    values = far.positions(producer.path.name, frame, producer.manifest.n_atoms)
    step = STEPS_PER_FRAME * frame

    def attempt() -> Put:
        began, clock = time.time(), time.monotonic()
        published = producer.publish(values, step, step / 20, far.BOX)
        return Put(published.sequence, step, published.level, began, time.monotonic() - clock)

    journal.put(despite_full_disk(attempt, journal))


class StoredNumber:
    """File with a number that survives the simulation."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> int | None:
        """Return the number, or None before the first one."""
        return int(self._path.read_text()) if self._path.exists() else None

    def write(self, number: int) -> None:
        """Replace the number."""
        new = self._path.with_name(f"{self._path.name}.new")
        new.write_text(str(number))
        new.replace(self._path)


def despite_full_disk(act: Callable[[], T], journal: Journal) -> T:
    """Call a function again, as the documentation advises, as long as a disk is full."""
    until = time.monotonic() + LONG
    n_refused = 0
    while True:
        try:
            done = act()
        except OSError as error:
            if error.errno != errno.ENOSPC or time.monotonic() > until:
                raise
            n_refused += 1
            time.sleep(_AGAIN)
        else:
            if n_refused:
                journal.event("full-disk", n_refused=n_refused)
            return done


def report_warnings(journal: Journal) -> None:
    """Have warnings written to the journal."""

    def show(message: "Warning | str", category: type[Warning], *_: object) -> None:
        journal.event("warning", kind=category.__name__, text=str(message))

    warnings.simplefilter("always")
    warnings.showwarning = show
