"""Notices: progress and results that a live analysis publishes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel.live.notices.process import Process

FOLDER = "analyses"
"""The folder in a channel's directory where notices are."""

ENDING = ".jsonl"

End: TypeAlias = Literal["finished", "stopped", "failed"]

HEAD = ("frame", "time")
"""What the first columns are called where rows are of frames."""


@dataclass(frozen=True)
class Notice:
    """What an analysis on a channel says of itself.

    Attributes
    ----------
    name : str
        What it is called, for people.
    process : Process
        Who runs it.
    state : {"running", "finished", "stopped", "failed", "dead"}
        How it is; dead, if it says that it runs, and its process has gone.
    reason : str or None
        Of a failure.
    n_frames : int
        Frames that it has done.
    columns : tuple of (str, str)
        Names and units of the columns of `rows`.
    n_columns : int
        How many columns its results have, of which more than a few are left out.
    is_of_frames : bool
        Whether rows are of frames: then the first columns are frame and time (ps). Else they are a curve over the
        first column, of all frames so far.
    rows : ndarray, shape (n_rows, n_columns), float64
        Its results so far, thinned out; NaN where there is no number.
    last : ndarray, shape (n_columns,), float64, or None
        The last row.
    seconds : mapping of str to float
        Where its time went since it began, s: ``wall``, the whole of it; ``wait`` for frames; ``read``, ``decompress``,
        ``compute``; more kinds of spans if it says so.
    """

    name: str
    process: Process
    state: str = "running"
    reason: str | None = None
    n_frames: int = 0
    columns: tuple[tuple[str, str], ...] = ()
    n_columns: int = 0
    is_of_frames: bool = True
    rows: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    last: NDArray[np.float64] | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def first_value(self) -> int:
        """Which column is the first that was computed."""
        return len(HEAD) if self.is_of_frames else 1

    @property
    def curve(self) -> NDArray[np.float64]:
        """The rows, and the last one behind them where it is not among them."""
        if self.last is None or (len(self.rows) and np.array_equal(self.rows[-1], self.last, equal_nan=True)):
            return self.rows
        return np.concatenate([self.rows, self.last[np.newaxis]])

    def share(self, kind: str) -> float | None:
        """Return which share of its time went into a kind, from 0 to 1; None where nobody knows."""
        wall = self.seconds.get("wall", 0.0)
        return min(self.seconds[kind] / wall, 1.0) if kind in self.seconds and wall > 0 else None

    @property
    def idle(self) -> float | None:
        """Which share of its time it waited for frames."""
        return self.share("wait")

    @property
    def movement(self) -> float | None:
        """Which share of its time it took frames from the channel."""
        return self.share("read")
