"""Errors of mdreel that programs written for MDAnalysis catch by MDAnalysis's names.

Only code that raises one of these errors imports this module, because MDAnalysis takes long to import.
"""

from MDAnalysis.exceptions import SelectionError as MDAnalysisSelectionError

from mdreel.errors import MismatchError, SelectionError


class AtomMismatchError(MismatchError, MDAnalysisSelectionError):  # type: ignore[misc]
    """Two groups of atoms do not correspond. MDAnalysis raises its `SelectionError` for this."""


class InvalidSelectionError(SelectionError, MDAnalysisSelectionError):  # type: ignore[misc]
    """A selection is empty or invalid. MDAnalysis raises its `SelectionError` for this."""


class SelectionTypeError(SelectionError, TypeError):
    """A selection has a type that no selection has."""


class SelectionKeyError(SelectionError, KeyError):
    """A dictionary of selections lacks a key."""

    # `KeyError` would show the message in quotes.
    __str__ = SelectionError.__str__


class WeightsTypeError(MismatchError, TypeError):
    """Weights have a type that no weights have."""
