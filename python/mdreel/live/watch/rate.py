"""Growth rate of a counter."""

from collections import deque

WINDOW_SECONDS = 10.0
"""Time over which rates are averaged. It is long because some simulations publish only one frame per second."""


class Rate:
    """Mean growth rate of a counter over the last few seconds."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, number: int, now: float) -> float | None:
        """Add the value of the counter at a time in s. Return its growth per second, or None if it is unknown."""
        if self._samples and number < self._samples[-1][1]:
            self._samples.clear()
        self._samples.append((now, number))
        while len(self._samples) > 2 and now - self._samples[1][0] >= WINDOW_SECONDS:
            self._samples.popleft()
        since, before = self._samples[0]
        return (number - before) / (now - since) if now > since else None
