"""Counting and rate-limited reporting of rejected messages and connections."""

import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from mdreel.foundation.printable import printable

_FIRST = 5
"""Number of rejections that are reported individually."""
_LEAST_SECONDS = 10.0
"""Minimum time between two later reports."""


class RejectionReporter:
    """Counter for rejections. The first few rejections are reported individually, and later rejections at intervals.

    Parameters
    ----------
    report : callable
        Function that is called with a line of text without terminal control characters. Its exceptions are suppressed.
    clock : callable
        Function that returns the monotonic time, in s.

    Attributes
    ----------
    n : int
        Number of rejections so far.
    """

    def __init__(self, report: Callable[[str], object], clock: Callable[[], float] = monotonic) -> None:
        self.n = 0
        self._report = report
        self._clock = clock
        self._n_reported = 0
        self._reported_at = 0.0
        self._lock = threading.Lock()

    def reject(self, line: str) -> None:
        """Count a rejection, and report it if a report is due."""
        with self._lock:
            self.n += 1
            now = self._clock()
            is_due = self.n <= _FIRST or now - self._reported_at >= _LEAST_SECONDS
            n_silent = self.n - self._n_reported - 1
            if is_due:
                self._n_reported, self._reported_at = self.n, now
        if is_due:
            self.report(f"{line} ({n_silent:,} more were refused before)" if n_silent else line)

    def report(self, line: str) -> None:
        """Report a line. Errors that occur during the report are suppressed."""
        with suppress(Exception):
            self._report(printable(line))

    def report_total(self, what: str) -> None:
        """Report the number of rejections, if there were any."""
        if self.n:
            self.report(f"{what}: {self.n:,} refused")
