"""Remedies in errors about frames without a periodic cell."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from mdreel.errors import MismatchError

SET_CELL = "set the cell with MDAnalysis.transformations.set_dimensions, and write the trajectory with it"
"""Remedy for analyses that need a cell."""

_FOUND = "no periodic cell"


class NeedsCell(Protocol):
    """An analysis that may need a periodic cell."""

    @property
    def without_cell(self) -> str:
        """Remedy for frames without a cell, or an empty string if the message of the core contains it."""


@contextmanager
def naming_cell_remedy(analyses: Sequence[NeedsCell]) -> Iterator[None]:
    """Add a remedy for the analyses to an error about a missing cell.

    Parameters
    ----------
    analyses : sequence of NeedsCell
        The analyses that run.
    """
    try:
        yield
    except MismatchError as error:
        remedies = dict.fromkeys(analysis.without_cell for analysis in analyses if analysis.without_cell)
        if _FOUND not in str(error) or not remedies:
            raise
        named = type(error)(f"{error}: {'; '.join(remedies)}")
        named.path, named.frame, named.byte = error.path, error.frame, error.byte
        raise named from error
