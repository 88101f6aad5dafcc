"""Re-raising of exceptions from signal handlers that a library has suppressed.

If a signal handler raises an exception while an object is being destroyed, Python suppresses the exception. This often
happens in libraries that communicate with servers. In addition, steps that several ranks carry out together must not be
interrupted. Therefore, signals are postponed until the end of such a step.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias

_Handler: TypeAlias = Callable[[int, FrameType | None], object]


@contextmanager
def reraise_suppressed() -> Iterator[Callable[[], None]]:
    """Record SIGINT and SIGTERM, so that their handlers can be called again.

    Yields
    ------
    callable
        Function that calls the handler of a recorded signal again. It has to be called regularly.
    """
    received: list[tuple[_Handler, int]] = []

    def remember(handler: _Handler, number: int, frame: FrameType | None) -> None:
        received.append((handler, number))
        handler(number, frame)

    def reraise() -> None:
        if received:
            handler, number = received[0]
            handler(number, None)

    with _replaced_handlers(remember):
        yield reraise


@contextmanager
def postpone_signals() -> Iterator[Callable[[], None]]:
    """Postpone the handlers of SIGINT and SIGTERM.

    Yields
    ------
    callable
        Function that calls the postponed handlers. The handlers are also called at the end of the context.
    """
    received: list[tuple[_Handler, int]] = []

    def remember(handler: _Handler, number: int, frame: FrameType | None) -> None:
        received.append((handler, number))
        del frame

    def handle_signals() -> None:
        while received:
            handler, number = received.pop(0)
            handler(number, None)

    with _replaced_handlers(remember):
        yield handle_signals
    handle_signals()


@contextmanager
def _replaced_handlers(replacement: Callable[[_Handler, int, FrameType | None], None]) -> Iterator[None]:
    """On SIGINT and SIGTERM, call `replacement` with the handler that it replaces."""
    handlers: dict[int, _Handler] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        replacement(handlers[number], number, frame)

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
