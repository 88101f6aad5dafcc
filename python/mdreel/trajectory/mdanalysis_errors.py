"""mdreel errors that also have the MDAnalysis types, so that programs written for MDAnalysis can catch them.

This module is imported only to raise one of these errors, because importing MDAnalysis takes a long time.
"""

from MDAnalysis.exceptions import SelectionError as MDAnalysisSelectionError

from mdreel.errors import MismatchError, SelectionError


class AtomMismatchError(MismatchError, MDAnalysisSelectionError):  # type: ignore[misc]
    """Raised if two groups of atoms do not correspond. MDAnalysis raises its `SelectionError` in this case."""


class InvalidSelectionError(SelectionError, MDAnalysisSelectionError):  # type: ignore[misc]
    """Raised if a selection is empty or invalid. MDAnalysis raises its `SelectionError` in this case."""


class SelectionTypeError(SelectionError, TypeError):
    """Raised if a selection has an invalid type."""


class SelectionKeyError(SelectionError, KeyError):
    """Raised if a dictionary of selections lacks a key."""

    # `KeyError` would show the message in quotes.
    __str__ = SelectionError.__str__


class WeightsTypeError(MismatchError, TypeError):
    """Raised if weights have an invalid type."""
