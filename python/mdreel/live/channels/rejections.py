"""Counts and rate-limited reports of refused messages and connections."""

import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from mdreel.foundation.printable import printable

_FIRST = 5
"""So many are reported one by one."""
_LEAST_SECONDS = 10.0
"""Later ones are reported no more often than this."""


class Rejects:
    """Counts what was refused, and reports it: the first few at once, all others now and then with their number.

    Parameters
    ----------
    report : callable
        Called with a line of text that cannot control a terminal. An error that it raises is suppressed.
    clock : callable
        Returns the monotonic time, s.

    Attributes
    ----------
    n : int
        How many were refused so far.
    """

    def __init__(self, report: Callable[[str], object], clock: Callable[[], float] = monotonic) -> None:
        self.n = 0
        self._report = report
        self._clock = clock
        self._n_reported = 0
        self._reported_at = 0.0
        self._lock = threading.Lock()

    def note(self, line: str) -> None:
        """Count one that was refused; report it if that is due."""
        with self._lock:
            self.n += 1
            now = self._clock()
            is_due = self.n <= _FIRST or now - self._reported_at >= _LEAST_SECONDS
            n_silent = self.n - self._n_reported - 1
            if is_due:
                self._n_reported, self._reported_at = self.n, now
        if is_due:
            self.say(f"{line} ({n_silent:,} more were refused before)" if n_silent else line)

    def say(self, line: str) -> None:
        """Report a line, whatever becomes of that: nobody ends because nobody reads."""
        with suppress(Exception):
            self._report(printable(line))

    def say_number(self, what: str) -> None:
        """Report how many were refused, if any were."""
        if self.n:
            self.say(f"{what}: {self.n:,} refused")
