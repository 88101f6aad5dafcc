"""Notices of analyses that read a channel."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mdreel.live.notices.process import Process
from mdreel.live.notices.rows import Rows, is_same_row

FOLDER = "analyses"
"""Folder of notices in a channel's directory."""

ENDING = ".jsonl"

End: TypeAlias = Literal["finished", "stopped", "failed"]

HEAD = ("frame", "time")
"""Names of the first columns if each row belongs to a frame."""


@dataclass(frozen=True)
class Notice:
    """Progress and results that an analysis of a channel publishes.

    Attributes
    ----------
    name : str
        Display name of the analysis.
    process : Process
        Process that runs the analysis.
    state : {"running", "finished", "stopped", "failed", "dead"}
        State of the analysis. It is dead if its process has disappeared without publishing the end of the analysis.
    reason : str or None
        Reason for a failure.
    n_frames : int
        Number of analysed frames.
    columns : tuple of (str, str)
        Names and units of the columns of `rows`.
    n_columns : int
        Number of columns of the results. `columns` contains only the first of these columns.
    is_of_frames : bool
        Whether each row belongs to a frame and starts with the frame number and the time (in ps). Otherwise, the rows
        form a curve that is computed from all frames so far, as a function of the first column.
    rows : Rows, n_rows of n_columns
        Downsampled results so far. Missing values are NaN.
    last : tuple of float, or None
        Last row, with a value for each column.
    seconds : mapping of str to float
        Times since the start, in s: ``wall`` (total), ``wait`` (for frames), ``read``, ``decompress``, ``compute``, and
        other kinds of spans if they were published.
    """

    name: str
    process: Process
    state: str = "running"
    reason: str | None = None
    n_frames: int = 0
    columns: tuple[tuple[str, str], ...] = ()
    n_columns: int = 0
    is_of_frames: bool = True
    rows: Rows = field(default_factory=lambda: Rows(0))
    last: tuple[float, ...] | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def first_value(self) -> int:
        """Index of the first computed column."""
        return len(HEAD) if self.is_of_frames else 1

    @property
    def curve(self) -> Rows:
        """Rows, followed by the last row if it is not among them."""
        if self.last is None or (len(self.rows) and is_same_row(self.rows[-1], self.last)):
            return self.rows
        return self.rows.extended([self.last], shares=False)

    def share(self, kind: str) -> float | None:
        """Return the share of time spent in a kind of span, from 0 to 1, or None if it is unknown."""
        wall = self.seconds.get("wall", 0.0)
        return min(self.seconds[kind] / wall, 1.0) if kind in self.seconds and wall > 0 else None

    @property
    def idle(self) -> float | None:
        """Share of time spent waiting for frames."""
        return self.share("wait")

    @property
    def movement(self) -> float | None:
        """Share of time spent reading frames from the channel."""
        return self.share("read")
