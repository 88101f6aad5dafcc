"""Rate of growth of a counter."""

from collections import deque

WINDOW_SECONDS = 10.0
"""Window over which rates are averaged; a simulation may publish only one frame per second."""


class Rate:
    """Mean rate of growth of a counter over the last seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def see(self, number: int, now: float) -> float | None:
        """Add the current value of the counter.

        Parameters
        ----------
        number : int
            Value of the counter. A smaller value than before resets the rate.
        now : float
            Current time, s.

        Returns
        -------
        float or None
            Growth per second; None after the first value.
        """
        if self._seen and number < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, number))
        while len(self._seen) > 2 and now - self._seen[1][0] >= WINDOW_SECONDS:
            self._seen.popleft()
        since, before = self._seen[0]
        return (number - before) / (now - since) if now > since else None
