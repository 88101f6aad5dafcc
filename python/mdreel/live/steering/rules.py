"""Rules with conditions on the values from live analyses."""

import math
from collections import deque
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mdreel.analysis.correlation import statistical_inefficiency
from mdreel.errors import MismatchError
from mdreel.foundation.toml_schema import entry


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Condition on the values of a column, and the actions that are carried out when the condition holds.

    A frame meets the condition if its value is above or below a limit, or inside or outside a window. The condition
    holds if it is met by a given share of the last frames. Alternatively, it holds if the last frames reach a given
    effective sample size.
    """

    name: str = entry("Name of the rule.")
    analysis: str = entry("Name of the analysis whose values are checked.")
    column: str | None = entry("Column of the analysis.  [default: the only one]", None)
    above: float | None = entry("Values greater than this meet the condition.", None)
    below: float | None = entry("Values less than this meet the condition.", None)
    inside: tuple[float, float] | None = entry("Values between these limits, included, meet the condition.", None)
    outside: tuple[float, float] | None = entry("Values outside these limits meet the condition.", None)
    around: float | None = entry("Values that differ from this by at most `percent` meet the condition.", None)
    percent: float | None = entry("For `around`: half the width of the window, in percent of its magnitude.", None)
    effective_samples: float | None = entry(
        "Minimum number of independent samples in the last frames, n / g with the statistical inefficiency g.",
        None,
    )
    frames: int = entry("Number of last frames to check; with fewer frames, the condition does not hold.", 1, least=1)
    share: float | None = entry("Share of these frames that must meet the condition.  [default: 1]", None, least=0)
    actions: tuple[str, ...] = entry("Actions in this order, by name, or by type if they need no table.")
    cool_down_frames: int = entry("Number of frames after a firing in which the rule does not fire again.", 0, least=0)
    cool_down_seconds: float = entry("Time after a firing in which the rule does not fire again, s.", 0.0, least=0)
    at_most: int = entry("Maximum number of firings; 0 for no limit.", 1, least=0)

    def __post_init__(self) -> None:
        """Check that the entries are consistent."""
        conditions = ("above", "below", "inside", "outside", "around", "effective_samples")
        given = [name.replace("_", "-") for name in conditions if getattr(self, name) is not None]
        if len(given) != 1:
            names = ", ".join(name.replace("_", "-") for name in conditions)
            self._refuse(f"expected one condition of {names}, got {' and '.join(given) or 'none'}")
        if (self.around is None) != (self.percent is None):
            self._refuse("around and percent require each other")
        self._check_numbers()
        if self.share is not None and not 0 < self.share <= 1:
            self._refuse(f"share must be more than 0 and at most 1, not {self.share:g}")
        if self.effective_samples is not None:
            self._check_effective()
        if not self.actions:
            self._refuse("expected at least one action")

    def _check_numbers(self) -> None:
        for name in ("above", "below", "around", "percent", "effective_samples", "share", "cool_down_seconds"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                self._refuse(f"{name.replace('_', '-')} must be a finite number, not {value}")
        if self.percent is not None and self.percent < 0:
            self._refuse(f"percent must be 0 or more, not {self.percent:g}")
        for name in ("inside", "outside"):
            window = getattr(self, name)
            if window is not None and not window[0] <= window[1]:
                self._refuse(f"{name}: expected a lower and an upper limit, got {window[0]:g} and {window[1]:g}")

    def _check_effective(self) -> None:
        assert self.effective_samples is not None
        if self.share is not None:
            self._refuse("share is not allowed with effective-samples")
        if not 0 < self.effective_samples <= self.frames:
            message = f"effective-samples must be more than 0 and at most the {self.frames} checked frames"
            self._refuse(f"{message}, not {self.effective_samples:g}")
        if self.frames < 2:
            self._refuse("effective-samples requires 2 frames or more")

    def _refuse(self, message: str) -> None:
        raise MismatchError(f"rule {self.name!r}: {message}")

    def is_met_by(self, value: float) -> bool:
        """Return whether the value of a frame meets the condition. This is never the case for NaN."""
        if self.above is not None:
            return value > self.above
        if self.below is not None:
            return value < self.below
        if self.outside is not None:
            return value < self.outside[0] or value > self.outside[1]
        low, high = self.window
        return low <= value <= high

    @property
    def window(self) -> tuple[float, float]:
        """Limits of a rule that uses ``inside`` or ``around``."""
        if self.inside is not None:
            return self.inside
        assert self.around is not None
        assert self.percent is not None
        half = abs(self.around) * self.percent / 100
        return self.around - half, self.around + half

    @property
    def n_needed(self) -> int:
        """Number of frames among the last frames that have to meet the condition."""
        # Use decimal arithmetic: a share of 0.1 of 30 frames is 3, but binary rounding may give 4.
        return math.ceil(Fraction(repr(1.0 if self.share is None else self.share)) * self.frames)


@dataclass(frozen=True)
class Finding:
    """Result of evaluating a condition at a frame.

    Attributes
    ----------
    holds : bool
        Whether the condition holds.
    message : str
        Description of the result.
    """

    holds: bool
    message: str


class Condition:
    """Evaluates the condition of a rule for consecutive frames, regardless of their arrival times."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._values: deque[float] = deque(maxlen=rule.frames)
        self._n_met = 0

    def evaluate(self, value: float) -> Finding:
        """Add the value of the next frame, and return whether the condition holds."""
        if self._rule.effective_samples is not None:
            self._values.append(value)
            return self._effective()
        if len(self._values) == self._rule.frames:
            self._n_met -= self._rule.is_met_by(self._values[0])
        self._values.append(value)
        self._n_met += self._rule.is_met_by(value)
        is_whole = len(self._values) == self._rule.frames
        holds = is_whole and self._n_met >= self._rule.n_needed
        if self._rule.frames == 1:
            return Finding(holds, f"{value:.6g} {_describe(self._rule)}")
        return Finding(holds, f"{self._n_met} of the last {len(self._values)} frames {_describe(self._rule)}")

    def _effective(self) -> Finding:
        n_effective = effective_sample_size(list(self._values)) if len(self._values) == self._rule.frames else 0.0
        assert self._rule.effective_samples is not None
        message = f"{n_effective:.4g} effective samples in the last {len(self._values)} frames"
        return Finding(n_effective >= self._rule.effective_samples, message)


def effective_sample_size(values: list[float]) -> float:
    """Return the effective number of independent samples in a series of values, n / g.

    The result is 0 if the values are constant or if any value is not finite, because the correlation is then undefined.
    """
    series = np.asarray(values, np.float64)
    if len(series) < 2 or not np.isfinite(series).all() or not np.ptp(series):
        return 0.0
    try:
        return len(series) / statistical_inefficiency(series)
    except MismatchError:  # the variance underflows to 0
        return 0.0


def _describe(rule: Rule) -> str:
    if rule.above is not None:
        return f"above {rule.above:g}"
    if rule.below is not None:
        return f"below {rule.below:g}"
    if rule.outside is not None:
        return f"outside {rule.outside[0]:g} to {rule.outside[1]:g}"
    low, high = rule.window
    return f"inside {low:g} to {high:g}"
