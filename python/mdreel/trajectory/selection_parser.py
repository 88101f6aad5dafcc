"""Parsing of MDAnalysis's selection strings in several threads."""

from typing import Any

from MDAnalysis.core import selection


def separate_selection_parsers() -> None:
    """Make MDAnalysis parse each selection string with a new parser, in all threads of this process.

    All parsers of MDAnalysis share one state: while two threads parse strings, each can take words from the string of
    the other. Then a selection fails, or selects the wrong atoms. You can safely call this function more than once.
    """
    if not isinstance(selection.Parser, _SeparateParsers):
        selection.Parser = _SeparateParsers()


class _SeparateParsers:
    """Replacement of MDAnalysis's only parser, ``MDAnalysis.core.selection.Parser``."""

    def parse(self, *arguments: Any, **options: Any) -> Any:
        """Return the selection that a string describes."""
        # This call skips SelectionParser.__new__, which would give the parser the shared state.
        parser = object.__new__(selection.SelectionParser)
        return parser.parse(*arguments, **options)
