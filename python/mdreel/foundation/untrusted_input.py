"""Validation of JSON and files that other processes have written."""

import json
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from mdreel.errors import FormatError

MOST_DEPTH = 32
"""Objects and lists lie in one another at most so deep; the messages of mdreel need 4."""

MOST_BYTES = 64 << 10
"""The most bytes of a message or a file, unless the caller allows more."""

_LEAST_WHOLE, _END_OF_WHOLE = -(1 << 63), 1 << 64
_SHOWN = 80


def object_of(content: bytes, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """Return the JSON object that some bytes hold.

    Parameters
    ----------
    content : bytes
        Any bytes, as another process has sent or written them.
    most_bytes : int
        The most bytes that are looked at.

    Returns
    -------
    dict
        The object. All of its numbers are finite, all of its whole numbers fit into 64 bits, and it is at most
        `MOST_DEPTH` deep. Types of values are for the caller to check.

    Raises
    ------
    FormatError
        If the bytes are anything else. No other error is raised, whatever the bytes are.
    """
    if len(content) > most_bytes:
        raise FormatError(f"expected at most {most_bytes:,} bytes, got {len(content):,}")
    try:
        found = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:  # a decoding error of UTF-8 is a ValueError
        raise FormatError(f"not understood: expected JSON: {error}") from None
    _check(found)
    if not isinstance(found, dict):
        raise FormatError(f"not understood: expected a JSON object, got a {type(found).__name__}")
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _check(found: Any) -> None:
    """Check numbers and depth, level by level: not by recursion, which has limits of its own."""
    level = [found]
    for _ in range(MOST_DEPTH):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner.extend(value.values())
            elif isinstance(value, list):
                inner.extend(value)
            elif isinstance(value, float):
                if not math.isfinite(value):
                    raise FormatError("not understood: expected finite numbers")
            elif isinstance(value, int) and not _LEAST_WHOLE <= value < _END_OF_WHOLE:
                raise FormatError("not understood: expected whole numbers of at most 64 bits")
        if not inner:
            return
        level = inner
    raise FormatError(f"not understood: expected at most {MOST_DEPTH} lists and objects in one another")


def whole(found: dict[str, Any], name: str, least: int = 0, end: int = 1 << 63) -> int:
    """Return a whole number of an object.

    Parameters
    ----------
    found : dict
        The object.
    name : str
        The name of the value.
    least, end : int
        The least number that is allowed, and the first beyond those that are.

    Raises
    ------
    FormatError
        If it is missing, is a truth value or another type, or lies outside of the range.
    """
    value = found.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < end:
        raise FormatError(f"expected a number from {least} to {end - 1} for {name}, got {shown(value)}")
    return value


def number(found: dict[str, Any], name: str) -> float:
    """Return a number of an object, as `whole` does."""
    value = found.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise FormatError(f"expected a finite number for {name}, got {shown(value)}")
    return float(value)


def text(found: dict[str, Any], name: str, most: int = 256, least: int = 1) -> str:
    """Return a text of an object.

    Parameters
    ----------
    found : dict
        The object.
    name : str
        The name of the value.
    most, least : int
        The most and the least characters of the text.

    Raises
    ------
    FormatError
        If it is missing, of another type, or too long or short.
    """
    value = found.get(name)
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise FormatError(f"expected a text of {least} to {most:,} characters for {name}, got {shown(value)}")
    return value


def shown(value: object) -> str:
    """Return a value as a message shows it: cut off where it is long."""
    return f"{value!r:.{_SHOWN}}"


def content_of(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Read a file that another process has written.

    Parameters
    ----------
    path : Path
        The file. A link is not followed, and a pipe is not waited for.
    most_bytes : int
        The most bytes that the file may have.

    Raises
    ------
    FormatError
        If it is no regular file, or has too many bytes.
    OSError
        If it is not there, or cannot be read.
    """
    with opened(path, most_bytes) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise FormatError(f"{path}: expected at most {most_bytes:,} bytes")
    return content


@contextmanager
def opened(path: Path, most_bytes: int | None = None) -> Iterator[BinaryIO]:
    """Open a file that another process has written, as `content_of` does."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        facts = os.fstat(number)
        if not stat.S_ISREG(facts.st_mode):
            raise FormatError(f"{path}: expected a regular file")
        if most_bytes is not None and facts.st_size > most_bytes:
            raise FormatError(f"{path}: expected at most {most_bytes:,} bytes, got {facts.st_size:,}")
        with os.fdopen(number, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(number)
