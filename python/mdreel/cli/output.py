"""Output of commands, escaped so that no text of another process can control the terminal."""

import json
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any

from mdreel.foundation.printable import printable_json, printable_lines


def echo(text: object, *, err: bool = False) -> None:
    """Print lines of text, in which texts of other processes may occur."""
    print(printable_lines(str(text)), file=sys.stderr if err else sys.stdout, flush=True)


def reporter(quiet: bool) -> Callable[[str], None]:
    """Return a function that prints lines to standard error, unless the command is quiet."""
    return (lambda line: None) if quiet else lambda line: echo(line, err=True)


def align_columns(rows: Sequence[Sequence[str]], left: Collection[int]) -> list[str]:
    """Return the lines of a table, with columns of words (`left`) aligned to the left and numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if number in left else text.rjust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def echo_json(value: Any, **how: Any) -> None:
    """Print JSON for people and programs.

    Parameters
    ----------
    value : object
        The value.
    **how
        Arguments of ``json.dumps``, such as ``indent``; ``ensure_ascii`` is false by default.
    """
    text = printable_json(json.dumps(value, **{"ensure_ascii": False, **how}))
    print(text, flush=True)


def echo_script(text: str) -> None:
    """Print a script of the user, byte for byte, for a file or a shell."""
    sys.stdout.write(text)
    sys.stdout.flush()
