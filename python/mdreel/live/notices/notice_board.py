"""Notice board, on which the analyses of a run publish their progress and results."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source
from mdreel.analysis.base.observer import ResultsView
from mdreel.live.notices.decimated_rows import MOST_ROWS, DecimatedRows
from mdreel.live.notices.file import NoticeFile, row_to_json, rows_to_json
from mdreel.live.notices.notice import HEAD, End
from mdreel.live.notices.timing import time_by_kind
from mdreel.timing.timing import Timing

_MOST_COLUMNS = 16
"""Maximum number of published columns, including frame and time."""

_LEAST_SECONDS = 0.5
"""Minimum interval between two notices."""

_MOST_SHARE = 0.05
"""Maximum share of the run time that is spent on notices."""


def source_channel(source: Source) -> Path | None:
    """Return the directory of the channel that a source reads, or None for other sources."""
    if not source.is_growing:
        return None  # avoids the description of thousands of files
    return next((Path(facts["path"]) for facts in source.describe() if facts.get("format") == "channel"), None)


class NoticeBoard:
    """Notices of the analyses that read a channel together. The board does nothing for other sources.

    Errors that occur while notices are written are suppressed, so that they never interrupt the analyses.

    Parameters
    ----------
    source : Source
        Source that the analyses read.
    shown : sequence of ResultsView
        Published results of each analysis.

    Attributes
    ----------
    is_over : bool
        Whether the end of the analyses has been published.
    """

    def __init__(self, source: Source, shown: Sequence[ResultsView]) -> None:
        channel = source_channel(source)
        self._each = [] if channel is None else [_PublishedNotice(NoticeFile(channel, one.name), one) for one in shown]
        self._started = monotonic()
        self._progress_due = self._results_due = 0.0
        self._counted: tuple[int, Mapping[str, float]] = 0, {}
        self.is_over = False

    @property
    def is_due(self) -> bool:
        """Whether it is time to publish results."""
        return bool(self._each) and monotonic() >= self._results_due

    @property
    def is_seen(self) -> bool:
        """Whether the analyses publish notices."""
        return bool(self._each)

    def report_progress(self, n_frames: int, seconds: Callable[[], Mapping[str, float]] | None = None) -> None:
        """Publish the number of analysed frames, and the times of spans (in s) if known, when a notice is due."""
        if self._each and monotonic() >= self._progress_due:
            self.count(n_frames, {"wall": monotonic() - self._started} if seconds is None else seconds())

    def count(self, n_frames: int, seconds: Mapping[str, float]) -> None:
        """Publish the number of analysed frames and the times of spans (in s), without results."""
        self._publish(n_frames, seconds, has_results=False)

    def tell(self, n_frames: int, seconds: Mapping[str, float]) -> None:
        """Publish the progress and the results so far; see `count`."""
        self._publish(n_frames, seconds, has_results=True)

    def finish(self, n_frames: int, timing: Timing) -> None:
        """Publish the complete results and the timing of a finished run."""
        self.tell(n_frames, time_by_kind(timing))
        self.end("finished")

    def end(self, state: End, reason: str | None = None) -> None:
        """Publish the end of the analyses. Further calls have no effect."""
        if self.is_over:
            return
        self.is_over = True
        for told in self._each:
            told.say(*self._counted, state, reason, has_results=False)

    def __enter__(self) -> Self:
        self.count(0, {})
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Exception):
            self.end("failed", " ".join(str(error).split()) or type(error).__name__)
        elif error is not None:
            self.end("stopped")  # by Ctrl-C, a signal, or a caller that stops to iterate

    def _publish(self, n_frames: int, seconds: Mapping[str, float], has_results: bool) -> None:
        begun = monotonic()
        self._counted = n_frames, seconds
        for told in self._each:
            told.say(n_frames, seconds, "running", None, has_results=has_results)
        taken = monotonic() - begun
        self._progress_due = monotonic() + max(_LEAST_SECONDS, taken / _MOST_SHARE)
        if has_results:
            self._results_due = self._progress_due


class _PublishedNotice:
    """Notice file of an analysis, with the results that have been published so far."""

    def __init__(self, file: NoticeFile, shown: ResultsView) -> None:
        self._file = file
        self._shown = shown
        self._head: dict[str, Any] = {"columns": [], "n_columns": 0, "is_of_frames": True}
        self._rows: DecimatedRows | None = None
        self._curve: NDArray[np.float64] = np.empty((0, 0))
        self._is_whole = False

    def say(
        self, n_frames: int, seconds: Mapping[str, float], state: str, reason: str | None, *, has_results: bool
    ) -> None:
        """Append new rows to the notice file, or rewrite it."""
        n_new = self._take_results() if has_results else 0
        timing = {kind: round(value, 6) for kind, value in seconds.items()}
        line: dict[str, Any] = {"state": state, "reason": reason, "n_frames": n_frames, "seconds": timing}
        was_whole, self._is_whole = self._is_whole, False
        with suppress(OSError):
            if not (was_whole and n_new >= 0 and self._file.add(line | self._latest(n_new))):
                self._file.begin(self._head, line | self._everything())
            self._is_whole = True

    def _take_results(self) -> int:
        """Take over the results so far. Return the number of new rows, or -1 if earlier rows have changed."""
        try:
            columns = [column for column in self._shown.columns() if not column.is_text]
        except Exception:  # noqa: BLE001 (there may be no table of few frames; the run itself reports real errors)
            return 0
        n_head = len(HEAD) if tuple(column.name for column in columns[: len(HEAD)]) == HEAD else 1
        taken = columns[:_MOST_COLUMNS]
        head = {
            "columns": [[column.name, column.unit] for column in taken],
            "n_columns": len(columns),
            "is_of_frames": n_head == len(HEAD),
        }
        is_same, self._head = head == self._head, head
        if not taken or not len(taken[0].values):
            return 0 if is_same else -1
        if n_head == len(HEAD):
            if self._rows is None or not is_same:
                self._rows = DecimatedRows(len(taken))
            # Rows of earlier frames never change.
            since = self._rows.n_rows
            n_new = self._rows.extend(np.column_stack([column.values[since:] for column in taken]))
            return n_new if is_same else -1
        self._rows, first = None, np.asarray(taken[0].values, np.float64)
        if (np.diff(first) > 0).all():  # a curve; matrices and records are not shown
            stride = -(-len(first) // MOST_ROWS)
            self._curve = np.column_stack([np.asarray(column.values, np.float64)[::stride] for column in taken])
        return -1

    def _latest(self, n_new: int) -> dict[str, Any]:
        if self._rows is None:
            return {}
        rows = self._rows.rows[len(self._rows.rows) - n_new :]
        return {"rows": rows_to_json(rows), "last": None if self._rows.last is None else row_to_json(self._rows.last)}

    def _everything(self) -> dict[str, Any]:
        if self._rows is None:
            return {"rows": rows_to_json(self._curve)}
        return self._latest(len(self._rows.rows))
