"""Checks that the files of a chain have not changed since they were described.

A run whose chain has a description begins at once. While it reads, it queries the files, and it returns its results
only if all of them are unchanged. Otherwise, it opens all files and begins again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mdreel.execution.serving_processes import current_kept

T = TypeVar("T")


class ChangedFilesError(Exception):
    """Raised within a run whose files have changed since they were described."""


def with_later_check(compute: Callable[[], T]) -> T:
    """Call a function that opens files and analyses them. Call it again if it has used an outdated description.

    Parameters
    ----------
    compute : callable
        The function, which calls `confirm_files` before it keeps or returns any results.
    """
    kept = current_kept()
    if kept is None or kept.checks_later:  # within another such call, which begins again
        return compute()
    kept.checks_later = True
    try:
        return compute()
    except Exception:
        # Any error can be a consequence of the outdated description, such as a wrong number of frames.
        if kept.check is None or kept.check.are_unchanged():
            raise
    finally:
        kept.checks_later, kept.check = False, None
    return compute()


def begin_check() -> None:
    """Begin to query the files on other threads, if the run has a chain whose files have not been checked."""
    kept = current_kept()
    if kept is not None and kept.check is not None:
        kept.check.begin()


def confirm_files() -> None:
    """Wait for the check of the files. Raise ChangedFilesError if a file has changed."""
    kept = current_kept()
    if kept is not None and kept.check is not None and not kept.check.are_unchanged():
        raise ChangedFilesError("a file has changed since the chain was described")
