"""Orderly shutdown of a simulation on SIGTERM, which batch systems send at the time limit."""

import os
import signal
import threading
from types import FrameType

EXIT_CODE = 128 + signal.SIGTERM
"""Exit status that shells report for a program that was terminated by SIGTERM."""


class ExitOnSigterm:
    """Converts SIGTERM to `SystemExit`, so that ``with`` blocks exit in an orderly way.

    The program's own handler is never replaced. The handler can be installed only from the main thread.
    """

    def __init__(self) -> None:
        self._process = 0

    def install(self) -> None:
        """Install the handler if SIGTERM would terminate the process without cleaning up."""
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._process = os.getpid()
            signal.signal(signal.SIGTERM, self._exit)

    def remove(self) -> None:
        """Restore the default action, unless the program has installed another handler in the meantime."""
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) == self._exit:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _exit(self, number: int, frame: FrameType | None) -> None:
        del frame
        if os.getpid() != self._process:  # a forked child does not end the channel of its parent
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        raise SystemExit(EXIT_CODE)
