"""Tests of rules against simple reference implementations."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdreel.errors import MismatchError
from mdreel.live.steering.rules import Condition, Rule, effective_sample_size
from mdreel.live.steering.trigger import Decision, RuleState

VALUES = st.lists(
    st.floats(-10, 10) | st.sampled_from([1.0, 2.0, 3.0, math.nan, math.inf, -math.inf]), min_size=1, max_size=60
)
CONDITIONS: dict[str, tuple[dict[str, object], Callable[[float], bool]]] = {
    "above": ({"above": 2.0}, lambda value: value > 2),
    "below": ({"below": 2.0}, lambda value: value < 2),
    "inside": ({"inside": (1.0, 3.0)}, lambda value: 1 <= value <= 3),
    "outside": ({"outside": (1.0, 3.0)}, lambda value: value < 1 or value > 3),
    "around": ({"around": 2.0, "percent": 50.0}, lambda value: 1 <= value <= 3),
    "around a negative value": ({"around": -2.0, "percent": 50.0}, lambda value: -3 <= value <= -1),
}


def rule(**settings: object) -> Rule:
    return Rule(**{"name": "r", "analysis": "a", "actions": ("stop",), **settings})  # type: ignore[arg-type]


def slow(values: list[float], is_met: Callable[[float], bool], n_frames: int, n_hundredths: int) -> list[bool]:
    """Return at each frame whether at least a given percentage of the last frames meets a condition."""
    found = []
    for end in range(1, len(values) + 1):
        last = values[max(0, end - n_frames) : end]
        found.append(len(last) == n_frames and 100 * sum(map(is_met, last)) >= n_hundredths * n_frames)
    return found


@pytest.mark.parametrize("name", CONDITIONS)
@given(values=VALUES, n_frames=st.integers(1, 12), n_hundredths=st.integers(1, 100))
def test_condition_holds_where_a_slow_loop_says_so(
    name: str, values: list[float], n_frames: int, n_hundredths: int
) -> None:
    settings, is_met = CONDITIONS[name]
    condition = Condition(rule(**settings, frames=n_frames, share=n_hundredths / 100))
    assert [condition.evaluate(value).holds for value in values] == slow(values, is_met, n_frames, n_hundredths)


def test_eighty_percent_of_two_hundred_frames_within_five_percent() -> None:
    condition = Condition(rule(around=40.0, percent=5.0, frames=200, share=0.8))
    values = [40.0] * 159 + [43.0] * 40
    assert not any(condition.evaluate(value).holds for value in values)  # 199 frames
    assert not condition.evaluate(42.1).holds  # 159 of 200
    outside, inside = Condition(rule(around=40.0, percent=5.0, frames=200, share=0.8)), 0
    for value in [41.9] * 160 + [42.1] * 40:
        found = outside.evaluate(value)
        inside += found.holds
    assert inside == 1
    assert found.message == "160 of the last 200 frames inside 38 to 42"


@given(n_frames=st.integers(1, 500), n_hundredths=st.integers(1, 100))
@example(n_frames=100, n_hundredths=7)  # 7.000000000000001 in binary numbers
def test_needed_frames_are_those_of_decimal_numbers(n_frames: int, n_hundredths: int) -> None:
    assert rule(above=1.0, frames=n_frames, share=n_hundredths / 100).n_needed == -(-n_frames * n_hundredths // 100)


def slow_effective(values: list[float]) -> float:
    """Return n / (1 + 2 sum (1 - m/n) r_m), truncated at the first r that is not positive."""
    n = len(values)
    mean = sum(values) / n
    deviations = [value - mean for value in values]
    variance = sum(deviation * deviation for deviation in deviations) / n
    total = 1.0
    for lag in range(1, n):
        products = [deviations[i] * deviations[i + lag] for i in range(n - lag)]
        correlation = sum(products) / len(products) / variance
        if correlation <= 0:
            break
        total += 2 * (1 - lag / n) * correlation
    return n / total


@given(seed=st.integers(0, 10_000), memory=st.floats(0, 0.95), n=st.integers(5, 120))
def test_effective_sample_size_is_that_of_a_slow_loop(seed: int, memory: float, n: int) -> None:
    noise = np.random.default_rng(seed).normal(size=n)
    values = [float(noise[0])]
    for one in noise[1:]:
        values.append(memory * values[-1] + float(one))
    assert effective_sample_size(values) == pytest.approx(slow_effective(values), rel=1e-6)


@given(seed=st.integers(0, 10_000), wanted=st.integers(1, 12))
def test_rule_on_effective_samples_holds_where_a_slow_loop_says_so(seed: int, wanted: int) -> None:
    values = np.cumsum(np.random.default_rng(seed).normal(size=60)).tolist()
    condition = Condition(rule(effective_samples=float(wanted), frames=20))
    for end in range(1, len(values) + 1):
        found = condition.evaluate(values[end - 1])
        expected = 0.0 if end < 20 else slow_effective(values[end - 20 : end])
        if abs(expected - wanted) > 1e-6:  # what the last bits of sums decide is nobody's business
            assert found.holds == (expected >= wanted)


@pytest.mark.parametrize("values", [[1.0] * 30, [1.0, math.nan] * 15, [math.inf, *[1.0] * 29], [3.0]])
def test_values_of_which_nothing_is_known_are_worth_no_sample(values: list[float]) -> None:
    assert effective_sample_size(values) == 0.0


@given(
    holds=st.lists(st.booleans(), max_size=40),
    cool_down=st.integers(0, 6),
    at_most=st.integers(0, 4),
)
def test_rule_fires_where_a_slow_loop_says_so(holds: list[bool], cool_down: int, at_most: int) -> None:
    watch = RuleState(rule(above=0.0, cool_down_frames=cool_down, at_most=at_most))
    fired: list[int] = []
    has_said = False
    for frame, is_held in enumerate(holds):
        verdict, _ = watch.evaluate(1.0 if is_held else -1.0)
        is_used_up = at_most and len(fired) >= at_most
        rests = bool(fired) and frame - fired[-1] <= cool_down
        if is_held and not is_used_up and not rests:
            fired.append(frame)
            has_said = False
            assert verdict is Decision.FIRES
        elif is_held and not is_used_up and not has_said:
            has_said = True
            assert verdict is Decision.COOLS_DOWN
        else:
            assert verdict is Decision.NOTHING
    assert watch.n_fired == len(fired)


def test_rule_rests_for_seconds_of_the_clock() -> None:
    now = 100.0
    watch = RuleState(rule(above=0.0, cool_down_seconds=10.0, at_most=0), clock=lambda: now)
    assert watch.evaluate(1.0)[0] is Decision.FIRES
    now = 109.9
    verdict, message = watch.evaluate(1.0)
    assert verdict is Decision.COOLS_DOWN
    assert message == "1 above 0; it fired 9.9 s ago, and rests for 10"
    assert watch.evaluate(1.0)[0] is Decision.NOTHING  # said once
    now = 110.0
    assert watch.evaluate(1.0)[0] is Decision.FIRES


def test_rule_that_may_not_fire_still_counts_frames() -> None:
    watch = RuleState(rule(above=0.0, frames=3))
    assert [watch.evaluate(1.0, may_fire=False)[0] for _ in range(5)] == [Decision.NOTHING] * 5
    assert watch.evaluate(1.0)[0] is Decision.FIRES


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "expected one condition of above, below, inside, outside, around, effective-samples, got none"),
        ({"above": 1.0, "below": 2.0}, "got above and below"),
        ({"inside": (2.0, 1.0)}, "inside: expected a lower and an upper limit, got 2 and 1"),
        ({"outside": (math.nan, 1.0)}, "outside: expected a lower and an upper limit, got nan and 1"),
        ({"around": 2.0}, "around and percent require each other"),
        ({"above": 2.0, "percent": 5.0}, "around and percent require each other"),
        ({"around": 2.0, "percent": -5.0}, "percent must be 0 or more, not -5"),
        ({"above": math.inf}, "above must be a finite number, not inf"),
        ({"above": 1.0, "share": 0.0}, "share must be more than 0 and at most 1, not 0"),
        ({"above": 1.0, "share": 80.0}, "share must be more than 0 and at most 1, not 80"),
        ({"effective_samples": 5.0, "frames": 4}, "at most the 4 checked frames, not 5"),
        ({"effective_samples": 1.0}, "requires 2 frames or more"),
        ({"effective_samples": 5.0, "frames": 40, "share": 0.5}, "share is not allowed with effective-samples"),
        ({"above": 1.0, "actions": ()}, "expected at least one action"),
        ({"above": 1.0, "cool_down_seconds": math.inf}, "cool-down-seconds must be a finite number"),
    ],
)
def test_rule_that_makes_no_sense_is_refused_by_name(settings: dict[str, object], expected: str) -> None:
    with pytest.raises(MismatchError) as raised:
        rule(**settings)
    assert str(raised.value).startswith("rule 'r': ")
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)
