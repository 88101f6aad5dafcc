"""Consumers of the fault run: members of groups, consumers without a group, viewers, and judges of groups."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from fault_run.cast import CHANNELS, LONG, Channel, Place, channel_named
from fault_run.committed_steps import CommittedSteps
from fault_run.journal import STEPS_PER_FRAME, Journal, checked
from fault_run.simulation import despite_full_disk
from mdreel.errors import StreamTimeoutError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.frame import Frame

IDLE = 0.5
"""Time without a frame after which a member commits what it has, s."""


def next_frame(consumer: Consumer, when_idle: Callable[[], None]) -> Frame | None:
    """Return the next frame, and raise StreamTimeoutError where none comes for a long time."""
    until = time.monotonic() + LONG
    while True:
        try:
            return consumer.next(timeout=IDLE)
        except StreamTimeoutError:
            when_idle()
            if time.monotonic() > until:
                raise


def commit(actor: dict[str, Any], place: Place, journal: Journal) -> None:
    """Take frames as a member of a group, and commit them."""
    channel, name = channel_named(actor["channel"]), place.channel(actor["channel"])
    options = actor["options"]
    consumer = _member(name, options, journal)
    committed = consumer.committed
    steps = CommittedSteps.from_blob(committed)
    journal.event("joined", has_committed=committed is not None, missed=consumer.missed)
    n_open = 0
    held: deque[Frame] = deque(maxlen=2)  # frames that are kept while later ones are taken
    every = 1 + 3 * options["number"]

    def commit_open() -> None:
        nonlocal n_open
        if n_open:
            despite_full_disk(lambda: consumer.commit(steps.blob()), journal)
            journal.event("committed", n=n_open, missed=consumer.missed)
            n_open = 0

    while True:
        frame = next_frame(consumer, commit_open)
        if frame is None:
            if not n_open:
                break
            commit_open()
            continue
        digest = checked(frame, name, channel.n_atoms)
        if committed is None:
            steps.n_late, committed = consumer.missed_at_start, b""
        journal.took(frame, digest, consumer.missed)
        steps.add(frame.step // STEPS_PER_FRAME, digest)
        held.append(frame)
        n_open += 1
        if n_open >= every:
            commit_open()
    journal.event("ended", end=consumer.end, missed=consumer.missed)
    held.clear()
    consumer.close()


def read(actor: dict[str, Any], place: Place, journal: Journal) -> None:
    """Take frames without a group."""
    _take_all(actor, place, journal, "every")


def view(actor: dict[str, Any], place: Place, journal: Journal) -> None:
    """Take the newest frames."""
    _take_all(actor, place, journal, "latest")


def _take_all(actor: dict[str, Any], place: Place, journal: Journal, policy: str) -> None:
    channel, name = channel_named(actor["channel"]), place.channel(actor["channel"])
    consumer = Consumer(name, wait=LONG, restart=LONG, policy=policy).open()
    journal.event("joined")
    frame: Frame | None
    while (frame := next_frame(consumer, lambda: None)) is not None:
        journal.took(frame, checked(frame, name, channel.n_atoms), consumer.missed)
    journal.event("ended", end=consumer.end, missed=consumer.missed)


def _member(name: str, options: dict[str, Any], journal: Journal) -> Consumer:
    membership = {key: options[key] for key in ("group", "member", "share")}
    return despite_full_disk(lambda: Consumer(name, wait=LONG, restart=LONG, **membership).open(), journal)


def judge(actor: dict[str, Any], place: Place, journal: Journal) -> None:
    """Report what each group of a host has committed, after everyone has left."""
    for channel in CHANNELS:
        _judge_channel(channel, actor["host"], place, journal)


def _judge_channel(channel: Channel, host: str, place: Place, journal: Journal) -> None:
    for group in channel.groups_on(host):
        for member in range(group.n_members):
            options = {"group": group.name, "member": str(member), "share": group.share}
            with _member(place.channel(channel.name), options, journal) as consumer:
                left = consumer.next(timeout=IDLE)  # None where the group has taken everything
                journal.event(
                    "committed",
                    channel=channel.name,
                    group=group.name,
                    member=member,
                    blob=(consumer.committed or b"").hex(),
                    missed=consumer.missed,
                    left=None if left is None else left.step,
                    end=consumer.end,
                )
