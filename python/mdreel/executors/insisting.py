"""Insisting: what a signal raises is raised again where a library has swallowed it.

An exception that a signal handler raises while an object is destroyed goes no further than that, and libraries that
talk to servers do much when objects are destroyed.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def insisting() -> Iterator[Callable[[], None]]:
    """Remember Ctrl-C and the request to end.

    Yields
    ------
    callable
        To be called every now and then: calls the signal's handler again if there was one.
    """
    came: list[int] = []
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}

    def remember(number: int, frame: FrameType | None) -> None:
        came.append(number)
        handlers[number](number, frame)

    def insist() -> None:
        if came:
            handlers[came[0]](came[0], None)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler
                signal.signal(number, remember)
    try:
        yield insist
    finally:
        for replaced, handler in handlers.items():
            signal.signal(replaced, handler)
