"""Spreads: means with their deviations."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spread:
    """A mean and its standard deviation (of a sample; 0 of a single value), in the unit of the values."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        """Return those of values."""
        several = np.array(list(values), np.float64)
        if not len(several):
            return cls(math.nan, math.nan)
        return cls(float(several.mean()), float(several.std(ddof=1)) if len(several) > 1 else 0.0)
