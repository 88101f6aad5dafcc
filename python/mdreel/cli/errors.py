"""Command errors, with exit codes and one-line messages."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING

from mdreel.errors import MdreelError, UnsupportedError
from mdreel.foundation.printable import printable

if TYPE_CHECKING:
    from pathlib import Path


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    DONE = 0
    DEFECT = 1
    USAGE = 2
    INPUT = 3
    OUTPUT = 4
    INTERRUPTED = 130  # 128 + SIGINT, as shells have it
    BROKEN_PIPE = 141  # 128 + SIGPIPE
    TERMINATED = 143  # 128 + SIGTERM


class CommandError(Exception):
    """An error that terminates a command. Its message is shown to the user."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def failing_with(code: ExitCode, hint: str = "") -> Iterator[None]:
    """Convert errors from mdreel and the operating system to a `CommandError` with this exit code."""
    try:
        yield
    except (MdreelError, OSError, MemoryError) as error:
        raise CommandError(one_line(error) + (f" ({hint})" if hint else ""), code) from error


@contextmanager
def checking_output(path: "Path") -> Iterator[None]:
    """Convert errors about an output file to a `CommandError` for wrong usage or for a failed output."""
    try:
        with failing_with(ExitCode.OUTPUT):
            yield
    except CommandError as error:
        match error.__cause__:
            case FileExistsError():
                message = f"{path}: the output exists already (--force replaces it)"
                raise CommandError(message, ExitCode.USAGE) from error
            case UnsupportedError():
                raise CommandError(str(error), ExitCode.USAGE) from error
        raise


def one_line(error: BaseException) -> str:
    """Return the message of an error as a single line that starts with the file."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return printable(f"{error.filename}: {error.strerror}")
    if isinstance(error, MemoryError):
        return f"{printable(str(error)) or 'the memory of this machine is full'}: select fewer atoms or frames"
    return printable(str(error)) or type(error).__name__
