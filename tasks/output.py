"""Output of tasks: to the terminal, or into the file of a part that runs beside others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

_file: ContextVar[TextIO | None] = ContextVar("output", default=None)
_is_patient: ContextVar[bool] = ContextVar("is_patient", default=False)


class TaskError(Exception):
    """A task cannot go on; the message says why and what to do."""


def output() -> TextIO:
    """Return where this thread writes."""
    return _file.get() or sys.stdout


def say(text: str) -> None:
    """Show a line at once."""
    print(text, file=output(), flush=True)


@contextmanager
def output_into(file: TextIO) -> Iterator[None]:
    """Write what this thread says, and what its programs say, into a file."""
    token = _file.set(file)
    try:
        yield
    finally:
        _file.reset(token)


def is_patient() -> bool:
    """Return whether the programs of this thread leave the processors to those of other parts."""
    return _is_patient.get()


@contextmanager
def patient() -> Iterator[None]:
    """Start the programs of this thread with a lower priority, so that they use idle processors only."""
    token = _is_patient.set(True)
    try:
        yield
    finally:
        _is_patient.reset(token)
