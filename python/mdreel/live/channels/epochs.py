"""Runs of a channel."""

from pathlib import Path

from mdreel._core import channel_status

NEW_RUN = -(2**63)
"""First step of a producer that starts a new run."""


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
        known, as on the channel of a relay that may lack frames of earlier runs.

    Raises
    ------
    FileNotFoundError
        If the channel does not exist.
    """
    first: int | None = channel_status(channel)["first_of_run"]
    return first
