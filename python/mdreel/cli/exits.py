"""How a command ends: exit codes, and errors in one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

from mdreel.errors import MdreelError, UnsupportedError
from mdreel.foundation.printable import printable


class ExitCode(IntEnum):
    """What the shell is told."""

    DONE = 0
    DEFECT = 1
    USAGE = 2
    INPUT = 3
    OUTPUT = 4
    INTERRUPTED = 130  # 128 + SIGINT, as shells have it
    BROKEN_PIPE = 141  # 128 + SIGPIPE
    TERMINATED = 143  # 128 + SIGTERM


class CommandError(Exception):
    """A command cannot go on; the message is for the person who typed it."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def failing_with(code: ExitCode, hint: str = "") -> Iterator[None]:
    """Turn what mdreel and the operating system report into a `CommandError` with this exit code."""
    try:
        yield
    except (MdreelError, OSError) as error:
        raise CommandError(one_line(error) + (f" ({hint})" if hint else ""), code) from error


@contextmanager
def checking_output(path: Path) -> Iterator[None]:
    """Turn what speaks against writing `path` into a `CommandError`: wrong usage, or an output that cannot be made."""
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
    """Say an error in one line, the file first where there is one."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return printable(f"{error.filename}: {error.strerror}")
    return printable(str(error)) or type(error).__name__
