"""Reraising of exceptions from signal handlers that a library has suppressed.

An exception that a signal handler raises while an object is destroyed goes no further than that, and libraries that
talk to servers do much when objects are destroyed. And what must not be cut in two, since others take part in it, has
signals wait for its end.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias

_Handler: TypeAlias = Callable[[int, FrameType | None], object]


@contextmanager
def insisting() -> Iterator[Callable[[], None]]:
    """Remember Ctrl-C and the request to end.

    Yields
    ------
    callable
        To be called every now and then: calls the signal's handler again if there was one.
    """
    came: list[tuple[_Handler, int]] = []

    def remember(handler: _Handler, number: int, frame: FrameType | None) -> None:
        came.append((handler, number))
        handler(number, frame)

    def insist() -> None:
        if came:
            handler, number = came[0]
            handler(number, None)

    with _heard_by(remember):
        yield insist


@contextmanager
def postponing() -> Iterator[Callable[[], None]]:
    """Keep Ctrl-C and the request to end from raising anything, but where it is asked for and at the end.

    Yields
    ------
    callable
        Calls the handlers of the signals that came.
    """
    came: list[tuple[_Handler, int]] = []

    def remember(handler: _Handler, number: int, frame: FrameType | None) -> None:
        came.append((handler, number))
        del frame

    def let() -> None:
        while came:
            handler, number = came.pop(0)
            handler(number, None)

    with _heard_by(remember):
        yield let
    let()


@contextmanager
def _heard_by(hear: Callable[[_Handler, int, FrameType | None], None]) -> Iterator[None]:
    """Have something hear Ctrl-C and the request to end, with the handler that would have heard it."""
    handlers: dict[int, _Handler] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        hear(handlers[number], number, frame)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler
                signal.signal(number, handle)
    try:
        yield
    finally:
        for replaced, handler in handlers.items():
            signal.signal(replaced, handler)
