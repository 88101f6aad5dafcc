"""Errors that are sent from a worker to the caller."""

import pickle
import traceback
from dataclasses import dataclass
from typing import Self

from mdreel.errors import MdreelError, WorkerError


@dataclass(frozen=True)
class Failure:
    """Picklable description of an error in a worker.

    Attributes
    ----------
    error : Exception
        The error. It is replaced by a RuntimeError if its class could be unknown to the caller.
    text : str
        Traceback of the error in the worker.
    """

    error: Exception
    text: str

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Describe an error. Call this in the process that catches the error."""
        kind = type(error)
        text = "".join(traceback.format_exception(error))
        error = error.with_traceback(None)
        if kind.__module__ not in ("builtins", MdreelError.__module__) or not _is_picklable(error):
            error = RuntimeError(f"{kind.__qualname__}: {error}")
        return cls(error, text)

    def blamed_on(self, subject: str) -> WorkerError:
        """Return an error that mentions the worker, and can be raised from this error.

        The traceback is attached as a note, which is shown by Python but omitted on the command line.
        """
        error = WorkerError(f"{subject}: {self}")
        error.add_note(self.text)
        return error

    def of_block(self, subject: str) -> Exception:
        """Return the error to raise if a block has failed again.

        The message mentions the worker, unless it already mentions a file that cannot be read.
        """
        if isinstance(self.error, OSError) and self.error.filename is not None:
            self.error.add_note(f"{subject}: {self.text}")
            return self.error
        error = self.blamed_on(subject)
        error.__cause__ = self.error
        return error

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


def _is_picklable(error: Exception) -> bool:
    """Return whether an error can be pickled. Some errors contain objects that cannot be pickled."""
    try:
        pickle.dumps(error)
    except Exception:  # noqa: BLE001 (pickling can raise any error)
        return False
    return True
