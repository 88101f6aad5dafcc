"""Runs of a channel."""

from pathlib import Path

from mdreel._core import channel_status

NEW_RUN = -(2**63)
"""Value of the first step if a producer starts a new run."""


def first_sequence_of_run(channel: Path) -> int | None:
    """Return the sequence number of the first frame of the current run.

    Parameters
    ----------
    channel : Path
        Directory of the channel.

    Returns
    -------
    int or None
        The sequence number, ignoring frames that a restarted producer has published again. None if the number is
        unknown, for example because the channel belongs to a relay, which can lack frames of earlier runs.

    Raises
    ------
    FileNotFoundError
        If the channel does not exist.
    """
    first: int | None = channel_status(channel)["first_of_run"]
    return first
