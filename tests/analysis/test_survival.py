"""Tests of survival probabilities against MDAnalysis."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from MDAnalysis.lib.correlations import autocorrelation, correct_intermittency

from mdreel.analysis.survival import survival
from mdreel.errors import MismatchError


def of_sets(presence: np.ndarray, tau_max: int, window_step: int, intermittency: int) -> np.ndarray:
    """Return the result of MDAnalysis for a set of members in each frame."""
    sets = [set(np.flatnonzero(row).tolist()) for row in presence]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # means of nothing
        taus, shares, _ = autocorrelation(correct_intermittency(sets, intermittency), tau_max, window_step)
    return np.vstack([taus, shares])


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_shares_are_those_of_sets_to_the_last_bit(data: st.DataObject) -> None:
    n_frames, n_members = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 5))
    seed, share = data.draw(st.integers(0, 2**32 - 1)), data.draw(st.sampled_from([0.0, 0.3, 0.8, 1.0]))
    given = data.draw(st.integers(0, n_frames)), data.draw(st.integers(1, 5)), data.draw(st.integers(0, 4))
    rng = np.random.default_rng(seed)
    presence = rng.random((n_frames, n_members)) < share
    places, members = np.nonzero(presence)
    names = rng.permutation(10**6)[:n_members]
    order = rng.permutation(len(places))
    found = survival(places[order], names[members[order]], n_frames, *given)
    np.testing.assert_array_equal(found, of_sets(presence, *given))


def test_duplicate_members_count_once() -> None:
    places, members = np.array([0, 0, 0, 1, 2]), np.array([7, 7, 9, 7, 9])
    np.testing.assert_array_equal(survival(places, members, 3, 2), [[0, 1, 2], [1, 0.25, 0]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((4,), "at most 3, the number of frames, not 4: lower it"),
        ((-1,), "0 or more frames, not -1"),
        ((2, 0), "window_step"),
        ((2, 1, -1), "or more"),
    ],
)
def test_survival_refuses_invalid_input(given: tuple[int, ...], message: str) -> None:
    with pytest.raises(MismatchError, match=message):
        survival(np.zeros(1, int), np.zeros(1, int), 3, *given)
