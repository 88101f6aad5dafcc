"""Placeholders such as ``{step}`` in user-defined commands."""

from collections.abc import Sequence
from string import Formatter

from mdreel.errors import MismatchError


def check_placeholders(where: str, command: Sequence[str], facts: Sequence[str]) -> None:
    """Check that a command contains only known placeholders.

    Parameters
    ----------
    where : str
        Text at the beginning of error messages.
    command : sequence of str
        Words of the command, for `str.format_map`.
    facts : sequence of str
        Known placeholders.

    Raises
    ------
    MismatchError
        If a placeholder is unknown, or if a brace is unmatched.
    """
    for word in command:
        try:
            fields = [(name, form, conversion) for _, name, form, conversion in Formatter().parse(word)]
        except ValueError as error:
            raise MismatchError(f"{where}: {word!r}: {error}") from None
        for name, form, conversion in fields:
            if name is not None and (name not in facts or form or conversion):
                known = ", ".join(f"{{{fact}}}" for fact in facts)
                message = f"unknown placeholder {{{name}}}; known: {known}; a brace itself is {{{{ or }}}}"
                raise MismatchError(f"{where}: {word!r}: {message}")
