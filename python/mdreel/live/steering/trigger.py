"""Decisions about when a rule fires, based on its maximum number of firings and its cool-down."""

from collections.abc import Callable
from enum import Enum
from time import monotonic

from mdreel.live.steering.rules import Condition, Rule


class Decision(Enum):
    """Decision about a rule at a frame."""

    NOTHING = "nothing"
    FIRES = "fires"
    COOLS_DOWN = "cools down"
    """The condition holds during the cool-down. This is reported once per cool-down."""


class RuleState:
    """Evaluates a rule for consecutive frames.

    Parameters
    ----------
    rule : Rule
        The rule.
    clock : callable
        Function that returns a monotonic time, in s.
    """

    def __init__(self, rule: Rule, clock: Callable[[], float] = monotonic) -> None:
        self.rule = rule
        self.n_fired = 0
        self._clock = clock
        self._condition = Condition(rule)
        self._n_frames = 0
        self._fired_at = (0, 0.0)
        self._has_said = False

    def evaluate(self, value: float, may_fire: bool = True) -> tuple[Decision, str]:
        """Return the decision at the next frame and its reason. `may_fire` is False while the engine is stopping."""
        self._n_frames += 1
        found = self._condition.evaluate(value)
        if not (found.holds and may_fire) or 0 < self.rule.at_most <= self.n_fired:
            return Decision.NOTHING, found.message
        now = self._clock()
        rest = self._rest(now) if self.n_fired else ""
        if rest:
            has_said, self._has_said = self._has_said, True
            return (Decision.NOTHING if has_said else Decision.COOLS_DOWN), f"{found.message}; {rest}"
        self.n_fired += 1
        self._fired_at = (self._n_frames, now)
        self._has_said = False
        return Decision.FIRES, found.message

    def _rest(self, now: float) -> str:
        """Describe the remaining cool-down. Return an empty string if there is none."""
        frame, moment = self._fired_at
        n_frames = self.rule.cool_down_frames - (self._n_frames - frame) + 1
        seconds = self.rule.cool_down_seconds - (now - moment)
        if n_frames > 0:
            return f"it fired {self._n_frames - frame} frames ago, and rests for {self.rule.cool_down_frames}"
        if seconds > 0:
            return f"it fired {now - moment:.3g} s ago, and rests for {self.rule.cool_down_seconds:g}"
        return ""
