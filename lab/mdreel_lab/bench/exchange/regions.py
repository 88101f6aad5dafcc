"""Nested regions of the work of a process for each frame, with their times, as Caliper would record them.

The names are those of the published call trees (Lumsden et al., 2024, figures 9 and 10).
"""

from collections.abc import Mapping
from time import perf_counter_ns
from typing import Any

PRODUCE, CONSUME = "produce", "consume"

MOVEMENT, IDLE = "movement", "idle"

KINDS: Mapping[str, str] = {
    "write_single_buf": MOVEMENT,
    "read_single_buf": MOVEMENT,
    "get_data": MOVEMENT,
    "cons_store": MOVEMENT,
    "explicit_sync": IDLE,
    "fetch": IDLE,
}
"""The kind of time of a region: the process moves bytes, or it waits. Other regions count as neither."""


class Regions:
    """Recorder of regions, with the time for each frame, s, by path from the outermost region inwards."""

    def __init__(self) -> None:
        self.times: dict[tuple[str, ...], list[float]] = {}
        self._open: list[str] = []
        self._since: list[int] = []

    def __call__(self, name: str) -> "Regions":
        """Name the region that ``with`` enters."""
        self._open.append(name)
        return self

    def __enter__(self) -> None:
        self._since.append(perf_counter_ns())

    def __exit__(self, *_: object) -> None:
        stop = perf_counter_ns()
        path = tuple(self._open)
        self._open.pop()
        self.times.setdefault(path, []).append((stop - self._since.pop()) * 1e-9)

    def add(self, name: str, seconds: float) -> None:
        """Record a region within the current regions after it has ended."""
        self.times.setdefault((*self._open, name), []).append(seconds)

    def as_json(self) -> dict[str, Any]:
        """Return the times with paths as texts."""
        return {"/".join(path): times for path, times in self.times.items()}


class NoRegions(Regions):
    """Recorder that records nothing, for measurements of whole frames."""

    def __call__(self, name: str) -> "Regions":
        """Enter no region."""
        return self

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def add(self, name: str, seconds: float) -> None:
        """Do nothing."""
