"""Rate of growth of a counter."""

from collections import deque

WINDOW_SECONDS = 10.0
"""Window over which rates are averaged; a simulation may publish only one frame per second."""


class Rate:
    """Mean rate of growth of a counter over the last seconds."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, number: int, now: float) -> float | None:
        """Add the value of the counter at a time, s; return its growth per second, or None if it is unknown."""
        if self._samples and number < self._samples[-1][1]:
            self._samples.clear()
        self._samples.append((now, number))
        while len(self._samples) > 2 and now - self._samples[1][0] >= WINDOW_SECONDS:
            self._samples.popleft()
        since, before = self._samples[0]
        return (number - before) / (now - since) if now > since else None
