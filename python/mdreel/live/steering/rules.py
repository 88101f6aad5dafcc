"""Conditions on live results."""

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
    """A condition on the values of one column, and what follows when it holds.

    The condition is met by a frame if its value is above or below a limit, inside or outside a window; it holds if it
    is met by a share of the last frames. Or it holds when the last frames have an effective sample size.
    """

    name: str = entry("What the rule is called.")
    analysis: str = entry("Whose values: the name of an analysis.")
    column: str | None = entry("Which of its columns.  [default: the only one]", None)
    above: float | None = entry("Met by values greater than this.", None)
    below: float | None = entry("Met by values less than this.", None)
    inside: tuple[float, float] | None = entry("Met by values from the first to the second of these, included.", None)
    outside: tuple[float, float] | None = entry("Met by values less than the first or greater than the second.", None)
    around: float | None = entry("Met by values that differ from this by at most `percent`.", None)
    percent: float | None = entry("Of `around`: half the width of the window, in percent of its magnitude.", None)
    effective_samples: float | None = entry(
        "Holds when the last frames have at least so many independent samples: n / g, g the statistical inefficiency.",
        None,
    )
    frames: int = entry("How many last frames are looked at; before there are so many, nothing holds.", 1, least=1)
    share: float | None = entry("Share of these frames that must meet the condition.  [default: 1]", None, least=0)
    actions: tuple[str, ...] = entry("What is done, in this order: names of actions, or types that need no table.")
    cool_down_frames: int = entry("For so many frames behind a firing it does not fire.", 0, least=0)
    cool_down_seconds: float = entry("For so many seconds behind a firing it does not fire.", 0.0, least=0)
    at_most: int = entry("How often it fires; 0 for as often as it holds.", 1, least=0)

    def __post_init__(self) -> None:
        """Check what goes together.

        Raises
        ------
        MismatchError
            If it does not.
        """
        conditions = ("above", "below", "inside", "outside", "around", "effective_samples")
        given = [name.replace("_", "-") for name in conditions if getattr(self, name) is not None]
        if len(given) != 1:
            names = ", ".join(name.replace("_", "-") for name in conditions)
            self._refuse(f"expected one condition of {names}, got {' and '.join(given) or 'none'}")
        if (self.around is None) != (self.percent is None):
            self._refuse("around and percent go together")
        self._check_numbers()
        if self.share is not None and not 0 < self.share <= 1:
            self._refuse(f"share must be more than 0 and at most 1, not {self.share:g}")
        if self.effective_samples is not None:
            self._check_effective()
        if not self.actions:
            self._refuse("expected an action or more")

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
            self._refuse("share is for conditions that single frames meet, not for effective-samples")
        if not 0 < self.effective_samples <= self.frames:
            message = f"effective-samples must be more than 0 and at most the {self.frames} frames that are looked at"
            self._refuse(f"{message}, not {self.effective_samples:g}")
        if self.frames < 2:
            self._refuse("effective-samples needs 2 frames or more")

    def _refuse(self, message: str) -> None:
        raise MismatchError(f"rule {self.name!r}: {message}")

    def is_met_by(self, value: float) -> bool:
        """Return whether the value of a frame meets the condition; what is no number meets none."""
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
        """The limits of a rule that says ``inside`` or ``around``."""
        if self.inside is not None:
            return self.inside
        assert self.around is not None
        assert self.percent is not None
        half = abs(self.around) * self.percent / 100
        return self.around - half, self.around + half

    @property
    def n_needed(self) -> int:
        """How many of the last frames must meet the condition."""
        # As it is written: of 0.1 and 30 frames 3, where binary numbers might say 4.
        return math.ceil(Fraction(repr(1.0 if self.share is None else self.share)) * self.frames)


@dataclass(frozen=True)
class Finding:
    """What a rule finds at a frame.

    Attributes
    ----------
    holds : bool
        Whether its condition holds.
    message : str
        What was found, in words.
    """

    holds: bool
    message: str


class Condition:
    """The condition of a rule over frames as they come: what it finds depends on the frames, not on when they come.

    Parameters
    ----------
    rule : Rule
        The rule.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._values: deque[float] = deque(maxlen=rule.frames)
        self._n_met = 0

    def look_at(self, value: float) -> Finding:
        """Take the value of the next frame, and say whether the condition holds now."""
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
            return Finding(holds, f"{value:.6g} {_said(self._rule)}")
        return Finding(holds, f"{self._n_met} of the last {len(self._values)} frames {_said(self._rule)}")

    def _effective(self) -> Finding:
        n_effective = effective_sample_size(list(self._values)) if len(self._values) == self._rule.frames else 0.0
        assert self._rule.effective_samples is not None
        message = f"{n_effective:.4g} effective samples in the last {len(self._values)} frames"
        return Finding(n_effective >= self._rule.effective_samples, message)


def effective_sample_size(values: list[float]) -> float:
    """Return the effective number of independent samples in a series of values, n / g.

    Values that do not change, or are not all finite, are worth none: nothing is known of how they are correlated.
    """
    series = np.asarray(values, np.float64)
    if len(series) < 2 or not np.isfinite(series).all() or not np.ptp(series):
        return 0.0
    try:
        return len(series) / statistical_inefficiency(series)
    except MismatchError:  # what changes by so little that its variance is none
        return 0.0


def _said(rule: Rule) -> str:
    if rule.above is not None:
        return f"above {rule.above:g}"
    if rule.below is not None:
        return f"below {rule.below:g}"
    if rule.outside is not None:
        return f"outside {rule.outside[0]:g} to {rule.outside[1]:g}"
    low, high = rule.window
    return f"inside {low:g} to {high:g}"
