"""Rate of growth of a counter."""

from collections import deque

WINDOW_SECONDS = 10.0
"""Over so long a rate is the mean: a simulation may have a frame a second."""


class Rate:
    """How fast a number grows, over the last seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def see(self, number: int, now: float) -> float | None:
        """Take what the number is now.

        Parameters
        ----------
        number : int
            The number; a smaller one than before begins anew.
        now : float
            When that is, s.

        Returns
        -------
        float or None
            By how much it grows in a second; None as long as it was seen once.
        """
        if self._seen and number < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, number))
        while len(self._seen) > 2 and now - self._seen[1][0] >= WINDOW_SECONDS:
            self._seen.popleft()
        since, before = self._seen[0]
        return (number - before) / (now - since) if now > since else None
