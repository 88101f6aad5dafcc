"""Triggers of rules: repetition and rest time."""

from collections.abc import Callable
from enum import Enum
from time import monotonic

from mdreel.live.steering.rules import Condition, Rule


class Verdict(Enum):
    """What a rule says at a frame."""

    NOTHING = "nothing"
    FIRES = "fires"
    COOLS_DOWN = "cools down"
    """It would fire, and rests; said once for each rest."""


class Watch:
    """A rule over frames as they come.

    Parameters
    ----------
    rule : Rule
        The rule.
    clock : callable
        The time in s, which may begin anywhere.
    """

    def __init__(self, rule: Rule, clock: Callable[[], float] = monotonic) -> None:
        self.rule = rule
        self.n_fired = 0
        self._clock = clock
        self._condition = Condition(rule)
        self._n_frames = 0
        self._fired_at = (0, 0.0)
        self._has_said = False

    def look_at(self, value: float, may_fire: bool = True) -> tuple[Verdict, str]:
        """Take the value of the next frame.

        Parameters
        ----------
        value : float
            The value.
        may_fire : bool
            Whether anybody wants to know: a simulation that is being stopped is asked nothing more.

        Returns
        -------
        tuple of Verdict and str
            What the rule says, and why.
        """
        self._n_frames += 1
        found = self._condition.look_at(value)
        if not (found.holds and may_fire) or 0 < self.rule.at_most <= self.n_fired:
            return Verdict.NOTHING, found.message
        now = self._clock()
        rest = self._rest(now) if self.n_fired else ""
        if rest:
            has_said, self._has_said = self._has_said, True
            return (Verdict.NOTHING if has_said else Verdict.COOLS_DOWN), f"{found.message}; {rest}"
        self.n_fired += 1
        self._fired_at = (self._n_frames, now)
        self._has_said = False
        return Verdict.FIRES, found.message

    def _rest(self, now: float) -> str:
        """Say for how long it rests yet; nothing if it does not."""
        frame, moment = self._fired_at
        n_frames = self.rule.cool_down_frames - (self._n_frames - frame) + 1
        seconds = self.rule.cool_down_seconds - (now - moment)
        if n_frames > 0:
            return f"it fired {self._n_frames - frame} frames ago, and rests for {self.rule.cool_down_frames}"
        if seconds > 0:
            return f"it fired {now - moment:.3g} s ago, and rests for {self.rule.cool_down_seconds:g}"
        return ""
