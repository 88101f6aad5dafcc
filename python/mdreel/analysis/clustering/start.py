"""Starts of k-means and k-medoids."""

from dataclasses import dataclass
from operator import index
from typing import get_args

from mdreel.analysis.choices import InitialCenters
from mdreel.errors import MismatchError

MOST_STARTS = 1000
"""Maximum number of starts."""


@dataclass(frozen=True)
class Start:
    """How first centres are chosen."""

    n_clusters: int
    init: InitialCenters
    n_starts: int
    seed: int

    def check_frames(self, n_frames: int) -> None:
        """Check that there are as many frames as clusters."""
        check_frames(self.n_clusters, n_frames)


def check_frames(n_clusters: int, n_frames: int) -> None:
    """Check that there are as many frames as clusters.

    Raises
    ------
    MismatchError
        If there are fewer frames.
    """
    if n_clusters > n_frames:
        found = "there is only 1 frame" if n_frames == 1 else f"there are only {n_frames:,} frames"
        remedy = "choose fewer clusters, or analyse more frames"
        raise MismatchError(f"n_clusters is {n_clusters:,}, but {found}: {remedy}")


def checked_start(n_clusters: int, init: InitialCenters, n_starts: int | None, seed: int, default_starts: int) -> Start:
    """Return the choice of first centres after checking it.

    Raises
    ------
    MismatchError
        If a value is not valid.
    """
    if init not in get_args(InitialCenters):
        raise MismatchError(f"init must be 'k-means++' or 'nani', not {init!r}")
    if n_starts is None:
        n_starts = 1 if init == "nani" else default_starts
    for name, value, least in (("n_clusters", n_clusters, 1), ("n_starts", n_starts, 1), ("seed", seed, 0)):
        if index(value) < least:
            raise MismatchError(f"{name} must be {least} or more, not {value}")
    if n_starts > MOST_STARTS:
        raise MismatchError(f"n_starts must be {MOST_STARTS:,} or less, not {n_starts:,}")
    if init == "nani" and n_starts > 1:
        raise MismatchError(f"n_starts is {n_starts}, but init='nani' always starts from the same frames: leave it out")
    return Start(index(n_clusters), init, index(n_starts), index(seed))
