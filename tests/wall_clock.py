"""A wall clock for some processes of a test, which is set while they run; the monotonic clock goes on as it does.

It is that of libfaketime (Debian: faketime), an external program that is loaded into these processes, and nowhere else.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOUR = 3600


def why_there_is_none() -> str | None:
    """Say why the clock cannot be set; None if it can."""
    if library() is None:
        return "a wall clock that is set needs libfaketime (Debian: faketime)"
    return None


def library() -> Path | None:
    """What is loaded into processes."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


class WallClock:
    """The wall clock of processes that are started with its variables.

    Parameters
    ----------
    file : Path
        A file that says how the clock is set.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.set(0)

    def set(self, seconds: int) -> None:
        """Set it, so many seconds before or behind that of the machine."""
        new = self.file.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        new.replace(self.file)

    def environment(self, *, also_monotonic: bool = False) -> dict[str, str]:
        """The variables of a process that has it; the monotonic clock may jump with it."""
        loaded = library()
        assert loaded is not None
        said = {
            "LD_PRELOAD": str(loaded),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            "NO_FAKE_STAT": "1",
        }
        return {**os.environ, **said, "FAKETIME_DONT_FAKE_MONOTONIC": "0" if also_monotonic else "1"}

    @contextmanager
    def set_again_and_again(self) -> Iterator[None]:
        """Set it hours ahead and back, some 100 times a second, for as long as the context."""
        stops = threading.Event()

        def go_on() -> None:
            while True:
                for hours in (10, -10, 1000, -1, 0):
                    self.set(hours * HOUR)
                    if stops.wait(0.01):
                        return

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            yield
        finally:
            stops.set()
            thread.join()
