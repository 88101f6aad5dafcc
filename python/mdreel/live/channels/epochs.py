"""Sequence number of the first frame of each producer of a channel, which tells a consumer what it has missed."""

import json
from pathlib import Path

from mdreel._core import channel_status
from mdreel.errors import FormatError
from mdreel.foundation.untrusted_input import content_of, object_of, whole

NEW_RUN = -(2**63)
"""First step of a producer that starts a new run."""

_FILE = "epochs"


def record_epoch(channel: Path, epoch: int) -> None:
    """Record that a producer of this epoch has opened the channel and publishes its next frame."""
    firsts = {**first_sequences(channel), epoch: int(channel_status(channel)["sequence"])}
    new = channel / f"{_FILE}.new"
    new.touch(0o600)
    new.write_text(json.dumps({str(number): first for number, first in firsts.items()}))
    new.replace(channel / _FILE)


def first_sequence_of_run(channel: Path) -> int | None:
    """Return the sequence number of the first frame of the current run.

    Parameters
    ----------
    channel : Path
        Directory of the channel.

    Returns
    -------
    int or None
        The number, which does not count the frames that a restarted producer has published again. None if it is not
        known, as on the channel of a relay that has not followed all runs.

    Raises
    ------
    FileNotFoundError
        If the channel does not exist.
    FormatError
        If the record of the channel is damaged.
    """
    resume_steps = channel_status(channel)["resume_steps"]
    first = len(resume_steps) - 1
    lowest = resume_steps[first]
    for epoch in reversed(range(first)):
        if lowest == NEW_RUN:
            break
        if max(resume_steps[epoch], 0) < lowest:  # the epoch has frames that were not published again
            first = epoch
        lowest = min(lowest, resume_steps[epoch])
    return first_sequences(channel).get(first, 0 if first == 0 else None)


def first_sequences(channel: Path) -> dict[int, int]:
    """Return the sequence number of the first frame of each recorded producer, by epoch.

    Raises
    ------
    FormatError
        If the record of the channel is damaged.
    """
    path = channel / _FILE
    try:
        found = object_of(content_of(path))
        return {int(name): whole(found, name) for name in found}
    except FileNotFoundError:
        return {}
    except (FormatError, ValueError) as error:
        raise FormatError(f"invalid numbers of first frames: {error}; remove the channel", path=path) from None
