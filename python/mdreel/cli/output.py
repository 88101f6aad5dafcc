"""Command output, which is escaped so that text from other processes cannot control the terminal."""

import json
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any

from mdreel.foundation.printable import printable_json, printable_lines


def echo(text: object, *, err: bool = False) -> None:
    """Print lines of text, which can contain text from other processes."""
    print(printable_lines(str(text)), file=sys.stderr if err else sys.stdout, flush=True)


def reporter(quiet: bool) -> Callable[[str], None]:
    """Return a function that prints lines to standard error, unless the command is quiet."""
    return (lambda line: None) if quiet else lambda line: echo(line, err=True)


def align_columns(rows: Sequence[Sequence[str]], left: Collection[int]) -> list[str]:
    """Return the lines of a table. The columns in `left` are left-aligned, and all other columns are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if number in left else text.rjust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def echo_json(value: Any, **how: Any) -> None:
    """Print JSON that can be read by both people and programs.

    Parameters
    ----------
    value : object
        The value.
    **how
        Arguments of ``json.dumps``, such as ``indent``. By default, ``ensure_ascii`` is false.
    """
    text = printable_json(json.dumps(value, **{"ensure_ascii": False, **how}))
    print(text, flush=True)


def echo_script(text: str) -> None:
    """Print a user's script byte by byte, for a file or a shell."""
    sys.stdout.write(text)
    sys.stdout.flush()
