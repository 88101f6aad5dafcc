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
        The error, or a RuntimeError in place of an error whose class the caller may not know.
    text : str
        Traceback in the worker.
    """

    error: Exception
    text: str

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Describe an error in the process that catches it."""
        kind = type(error)
        text = "".join(traceback.format_exception(error))
        error = error.with_traceback(None)
        if kind.__module__ not in ("builtins", MdreelError.__module__) or not _is_picklable(error):
            error = RuntimeError(f"{kind.__qualname__}: {error}")
        return cls(error, text)

    def blamed_on(self, subject: str) -> WorkerError:
        """Return an error that names the worker, to be raised from this error.

        The traceback is a note, which Python shows and the command line leaves out.
        """
        error = WorkerError(f"{subject}: {self}")
        error.add_note(self.text)
        return error

    def of_block(self, subject: str) -> Exception:
        """Return the error that the run raises when a block has failed again.

        It names the worker, unless the error names a file that cannot be read.
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
    """Return whether an error can be pickled; some hold objects that cannot."""
    try:
        pickle.dumps(error)
    except Exception:  # noqa: BLE001 (pickling can raise any error)
        return False
    return True
