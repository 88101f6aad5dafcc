"""What commands print: text in which nothing can control a terminal, whoever has written it."""

import json
from typing import Any

import typer

from mdreel.foundation.printable import printable_json, printable_lines


def say(text: object, *, err: bool = False) -> None:
    """Print lines of text, which may hold texts of other processes."""
    typer.echo(printable_lines(str(text)), err=err)


def say_json(value: Any, **how: Any) -> None:
    """Print JSON, with its letters as they are, for people and for programs.

    Parameters
    ----------
    value : object
        What is printed.
    **how
        What ``json.dumps`` takes, as ``indent``; ``ensure_ascii`` is false by default.
    """
    typer.echo(printable_json(json.dumps(value, **{"ensure_ascii": False, **how})))


def say_script(text: str) -> None:
    """Print a program of the user's own, byte for byte, as it goes into a file or a shell."""
    typer.echo(text, nl=False)
