"""Times of exchange for each frame on either side, computed from the records."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel_lab.bench.exchange.models import MODELS
from mdreel_lab.bench.exchange.points import ExchangePoint
from mdreel_lab.bench.exchange.regions import CONSUME, IDLE, KINDS, MOVEMENT, PRODUCE
from mdreel_lab.bench.measures import Spread
from mdreel_lab.bench.records import DONE, Kept

Record = Kept[ExchangePoint]

ROLES = {"production": PRODUCE, "consumption": CONSUME}
N_FIRST = 1
"""Number of first frames of a pair that do not count: the analysis waits a whole period for the first frame."""


@dataclass(frozen=True)
class Cell:
    """All repeats of a series at a place on the axis: a number of pairs, a stride, or the label of a model."""

    series: str
    at: int | str
    repeats: list[Record] = field(default_factory=list)

    def spread(self, side: str, kind: str | None = None, n_left_out: int = N_FIRST) -> Spread:
        """Mean over frames of the time of a frame, s, and the deviation between pairs and repeats.

        The side hand-over is the time from just before a frame is written until the consumer has it, and NaN between
        nodes with different clocks. The kind is the part of it; by default both. The given number of first frames
        of each pair is left out of the mean.
        """
        return Spread.of(float(values[n_left_out:].mean()) for values in self._of_pairs(side, kind))

    def median(self, side: str, kind: str | None = None) -> float:
        """Median over frames, pairs and repeats of the time of a frame, s, without the first frame of each pair."""
        several = [values[N_FIRST:] for values in self._of_pairs(side, kind)]
        return float(np.median(np.concatenate(several))) if several else math.nan

    def first(self, side: str) -> Spread:
        """Mean and deviation of the time of the first frame, which `spread` leaves out."""
        return Spread.of(float(values[0]) for values in self._of_pairs(side, None))

    def _of_pairs(self, side: str, kind: str | None) -> Iterable[NDArray[np.float64]]:
        for kept in self.repeats:
            for pair in kept.facts["pairs"]:
                if side == "hand-over":
                    if not kept.facts.get("share_a_clock", True):
                        continue
                    yield (np.array(pair[CONSUME]["when"]) - np.array(pair[PRODUCE]["when"])) * 1e-9
                else:
                    yield time_of(pair, ROLES[side], kind)


def time_of(pair: dict[str, Any], role: str, kind: str | None) -> NDArray[np.float64]:
    """Return the time of each frame of a pair for one of the two sides, s: moving, being idle, or both."""
    regions: dict[str, list[float]] = pair[role]["regions"]
    wanted = (MOVEMENT, IDLE) if kind is None else (kind,)
    names = {f"{role}/{name}" for name, counts_as in KINDS.items() if counts_as in wanted}
    counted = [times for name, times in regions.items() if name in names]
    n_frames = len(pair[role]["when"])
    found: NDArray[np.float64] = np.array(counted, np.float64).reshape(-1, n_frames).sum(axis=0)
    return found


def cells_of(records: Sequence[Record], over: str) -> list[Cell]:
    """Group the records of completed points into cells, in order of first occurrence."""
    found: dict[tuple[str, int | str], Cell] = {}
    for kept in records:
        if kept.status == DONE:
            point = kept.point
            places: dict[str, int | str] = {"pairs": point.n_pairs, "stride": point.stride}
            at = places.get(over, MODELS[point.model].label)
            found.setdefault((point.series, at), Cell(point.series, at)).repeats.append(kept)
    return list(found.values())
