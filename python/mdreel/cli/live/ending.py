"""Signal handling for commands that run until a signal. Later signals do not interrupt the clean-up."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import NoReturn

from mdreel.cli.errors import ExitCode

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def ended_by_one_signal() -> Iterator[None]:
    """Raise KeyboardInterrupt or SystemExit at the first SIGINT or SIGTERM, and ignore later signals.

    Otherwise, a second signal would interrupt the clean-up. After the first signal, the process ignores both signals
    until it exits. If a signal was ignored before, it is still ignored.
    """
    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    caught = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    is_ending = False

    def end(number: int, frame: FrameType | None) -> NoReturn:
        nonlocal is_ending
        is_ending = True
        for other in caught:
            # Python reports a signal that has arrived if its handler becomes SIG_IGN before it is handled.
            signal.signal(other, _ignore)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(ExitCode.TERMINATED)

    for number in caught:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_IGN if is_ending else before[number])


def _ignore(number: int, frame: FrameType | None) -> None:
    """Ignore a signal."""
