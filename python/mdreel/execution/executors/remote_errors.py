"""Errors that travel from a worker to the caller."""

import pickle
import traceback
from dataclasses import dataclass
from typing import Self

from mdreel.errors import MdreelError, WorkerError


@dataclass(frozen=True)
class Failure:
    """An error that a worker met.

    Attributes
    ----------
    error : Exception
        The error, or one that stands for it where its class may be unknown.
    text : str
        Its traceback there.
    """

    error: Exception
    text: str

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Describe an error where it is caught, so that it can be understood anywhere."""
        kind = type(error)
        text = "".join(traceback.format_exception(error))
        error = error.with_traceback(None)
        if kind.__module__ not in ("builtins", MdreelError.__module__) or not _travels(error):
            error = RuntimeError(f"{kind.__qualname__}: {error}")
        return cls(error, text)

    def blamed_on(self, subject: str) -> WorkerError:
        """Return an error that says who met this one, to be raised from it.

        The traceback there is a note: Python shows it, and the command line keeps to one line.
        """
        error = WorkerError(f"{subject}: {self}")
        error.add_note(self.text)
        return error

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


def _travels(error: Exception) -> bool:
    """Whether an error can be pickled: some hold what they were about."""
    try:
        pickle.dumps(error)
    except Exception:  # noqa: BLE001 (whatever is in the way)
        return False
    return True
