"""Validation of JSON and files from other processes."""

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
"""Maximum nesting depth of objects and lists. Messages from mdreel need 4 levels."""

MOST_BYTES = 64 << 10
"""Maximum size of a message or a file, in bytes, unless the caller allows more."""

_LEAST_WHOLE, _END_OF_WHOLE = -(1 << 63), 1 << 64
_SHOWN = 80


def object_of(content: bytes, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """Parse bytes as a JSON object.

    Parameters
    ----------
    content : bytes
        Arbitrary bytes from another process.
    most_bytes : int
        Maximum size that is accepted, in bytes.

    Returns
    -------
    dict
        The object. All numbers are finite, all integers fit into 64 bits, and the nesting depth is at most
        `MOST_DEPTH`. The caller still has to check the types of the values.

    Raises
    ------
    FormatError
        If the bytes are not such an object. No other error is raised, whatever the bytes contain.
    """
    if len(content) > most_bytes:
        raise FormatError(f"expected at most {most_bytes:,} bytes, got {len(content):,}")
    try:
        found = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:  # includes invalid UTF-8
        raise FormatError(f"expected JSON: {error}") from None
    _check(found)
    if not isinstance(found, dict):
        raise FormatError(f"expected a JSON object, got a {type(found).__name__}")
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _check(found: Any) -> None:
    """Check the numbers and the nesting depth level by level, without recursion."""
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
                    raise FormatError("expected finite numbers")
            elif isinstance(value, int) and not _LEAST_WHOLE <= value < _END_OF_WHOLE:
                raise FormatError("expected whole numbers of at most 64 bits")
        if not inner:
            return
        level = inner
    raise FormatError(f"expected at most {MOST_DEPTH} nested lists and objects")


def whole(found: dict[str, Any], name: str, least: int = 0, end: int = 1 << 63) -> int:
    """Return an integer from an object.

    Parameters
    ----------
    found : dict
        The object.
    name : str
        Name of the value.
    least, end : int
        Smallest allowed value, and the (exclusive) end of the range.

    Raises
    ------
    FormatError
        If the value is missing, has a different type, such as bool, or is out of range.
    """
    value = found.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < end:
        raise FormatError(f"expected a number from {least} to {end - 1} for {name}, got {shown(value)}")
    return value


def number(found: dict[str, Any], name: str) -> float:
    """Return a finite number from an object; see `whole`."""
    value = found.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise FormatError(f"expected a finite number for {name}, got {shown(value)}")
    return float(value)


def text(found: dict[str, Any], name: str, most: int = 256, least: int = 1) -> str:
    """Return a str from an object.

    Parameters
    ----------
    found : dict
        The object.
    name : str
        Name of the value.
    most, least : int
        Maximum and minimum number of characters.

    Raises
    ------
    FormatError
        If the value is missing, has a different type, or is too long or too short.
    """
    value = found.get(name)
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise FormatError(f"expected a text of {least} to {most:,} characters for {name}, got {shown(value)}")
    return value


def shown(value: object) -> str:
    """Return a representation of a value for a message, which is truncated if it is long."""
    return f"{value!r:.{_SHOWN}}"


def content_of(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Read a file that was written by another process.

    Parameters
    ----------
    path : Path
        The file. Symbolic links are not followed, and pipes do not block.
    most_bytes : int
        Maximum size that is accepted, in bytes.

    Raises
    ------
    FormatError
        If the file is not a regular file, or if it is too large.
    OSError
        If the file does not exist or cannot be read.
    """
    with opened(path, most_bytes) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise FormatError(f"expected at most {most_bytes:,} bytes", path=path)
    return content


@contextmanager
def opened(path: Path, most_bytes: int | None = None) -> Iterator[BinaryIO]:
    """Open a file that was written by another process, as `content_of` does."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        facts = os.fstat(number)
        if not stat.S_ISREG(facts.st_mode):
            raise FormatError("expected a regular file", path=path)
        if most_bytes is not None and facts.st_size > most_bytes:
            raise FormatError(f"expected at most {most_bytes:,} bytes, got {facts.st_size:,}", path=path)
        with os.fdopen(number, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(number)
