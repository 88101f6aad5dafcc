"""Archivers, the server and relays of the fault run."""

import errno
import time
from typing import Any

import mdreel
from fault_run.cast import LONG, Place, channel_named
from fault_run.journal import Journal
from mdreel.live.nodes import Relay, Security, Server

_LOOK = 0.1


def archive(actor: dict[str, Any], place: Place, journal: Journal) -> None:
    """Archive a channel, and go on where an archiver has died or its disk was full."""
    name, options = place.channel(actor["channel"]), actor["options"]
    on_missed = "raise" if options["is_whole"] else "skip"
    until = time.monotonic() + LONG
    while True:
        path = place.archive(options["file"])
        try:
            done = mdreel.live.archive(name, path, group=options["group"], wait=LONG, restart=LONG, on_missed=on_missed)
        except OSError as error:
            # Of the small disk, on which the group commits.
            if error.errno != errno.ENOSPC or time.monotonic() > until:
                raise
            journal.event("full-disk", n_refused=1)
            time.sleep(_LOOK)
        else:
            journal.event("archived", n_frames=done.n_frames, n_missed=done.n_missed)
            return


def serve(actor: dict[str, Any], place: Place, journal: Journal) -> None:
    """Serve all channels that have relays until the round asks to close."""
    from fault_run.cast import CHANNELS

    names = [place.channel(channel.name) for channel in CHANNELS if channel.relays]
    until = time.monotonic() + LONG
    while True:
        server = Server(
            names,
            place.address,
            Security(place.token),
            patience=15.0,
            report=lambda line: journal.event("server", line=line),
        )
        try:
            server.open()
        except OSError as error:
            journal.event("no-server", error=str(error))
            if time.monotonic() > until:
                raise
            time.sleep(_LOOK)
        else:
            break
    with server:
        while not place.close.exists():
            server.check()
            time.sleep(_LOOK)
        journal.event("relays", relays=[vars(relay) for relay in server.relays], n_refused=server.n_refused)


def relay(actor: dict[str, Any], place: Place, journal: Journal) -> None:
    """Relay a channel until it ends."""
    channel, options = channel_named(actor["channel"]), actor["options"]
    disk = options["staging"]
    staging = None if disk is None else place.staging(channel.name, actor["host"], disk)
    relaying = Relay(
        place.address,
        place.channel(channel.name),
        security=Security(place.token),
        wait=LONG,
        patience=options["patience"],
        n_slots=channel.n_slots,
        staging=staging,
        report=lambda line: journal.event("relay", line=line),
    )
    how = relaying.run()
    journal.event("ended", end=how, **relaying.statistics._asdict())
