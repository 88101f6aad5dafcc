"""Text from other processes, which is made safe for a terminal."""

import json
import re

_ODD = re.compile(r"[^\x20-\x7e\n]")
"""Characters that have to be checked. All other characters are printable ASCII."""


def printable(text: str) -> str:
    r"""Convert text to a single line that cannot control a terminal.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        The text, in which consecutive white space is replaced by a single space. Control characters (such as C0, C1 and
        ESC), marks that change the writing direction, and other invisible characters are escaped as in Python, for
        example ``\x1b``.
    """
    return _escaped(" ".join(text.split()))


def printable_lines(text: str) -> str:
    """Make each line of a text as safe as `printable` does, but preserve the white space."""
    return "\n".join(_escaped(line.replace("\t", "    ")) for line in text.split("\n"))


def printable_json(text: str) -> str:
    """Return an equivalent JSON text that cannot control a terminal.

    Parameters
    ----------
    text : str
        JSON text, as from ``json.dumps(..., ensure_ascii=False)``.
    """
    return _ODD.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)


def _escaped(text: str) -> str:
    return _ODD.sub(lambda found: found[0] if found[0].isprintable() else _escape(found[0]), text)


def _escape(letter: str) -> str:
    number = ord(letter)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
