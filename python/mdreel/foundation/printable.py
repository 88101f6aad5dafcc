"""Text of other processes, made safe for a terminal."""

import json
import re

_ODD = re.compile(r"[^\x20-\x7e\n]")
"""Characters that need a check; all others are printable ASCII."""


def printable(text: str) -> str:
    r"""Return a text as one line that cannot control a terminal.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        The text with each run of white space as one space. Control characters (such as C0, C1 and ESC), marks that
        change the direction of writing, and other invisible characters are escaped as in Python: ``\x1b``.
    """
    return _escaped(" ".join(text.split()))


def printable_lines(text: str) -> str:
    """Return a text of several lines, each safe as from `printable`, with its white space."""
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
