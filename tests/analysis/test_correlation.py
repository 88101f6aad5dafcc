"""Tests of autocorrelation, statistical inefficiency and block averages."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import mdreel
from mdreel.analysis.correlation import fft_length
from mdreel.errors import MismatchError


def direct(values: NDArray[np.float64], product: object) -> NDArray[np.float64]:
    n = len(values)
    return np.array([np.mean([product(values[t], values[t + m]) for t in range(n - m)], axis=0) for m in range(n)])


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 40), st.integers(0, 50), st.integers(0, 2**32 - 1))
def test_autocorrelation_is_that_of_the_formula(n_frames: int, max_lag: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(3, 2, (n_frames, 2, 3))
    plain = {"normalize": False, "subtract_mean": False, "max_lag": max_lag}
    n_lags = min(max_lag + 1, n_frames)
    found = mdreel.analysis.autocorrelation(values, **plain)
    np.testing.assert_allclose(found, direct(values, lambda a, b: a * b)[:n_lags], atol=1e-9)
    found = mdreel.analysis.autocorrelation(values, vectors=True, **plain)
    np.testing.assert_allclose(found, direct(values, lambda a, b: (a * b).sum(axis=-1))[:n_lags], atol=1e-9)
    deviations = values - values.mean(axis=0)
    found = mdreel.analysis.autocorrelation(values, normalize=False)
    np.testing.assert_allclose(found, direct(deviations, lambda a, b: a * b), atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_directions_are_correlated_by_legendre_polynomials(n_frames: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(n_frames, 2, 3)) + 0.3
    units = values / np.linalg.norm(values, axis=-1, keepdims=True)

    def cosine(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        return (a * b).sum(axis=-1)

    first, second = (mdreel.analysis.autocorrelation(values, legendre=order) for order in (1, 2))
    np.testing.assert_allclose(first, direct(units, cosine), atol=1e-9)
    np.testing.assert_allclose(second, direct(units, lambda a, b: 1.5 * cosine(a, b) ** 2 - 0.5), atol=1e-9)
    np.testing.assert_allclose(first[0], 1)
    np.testing.assert_allclose(second[0], 1)


@given(st.integers(1, 5000))
def test_lengths_of_transforms_have_small_factors(least: int) -> None:
    length = fft_length(least)
    assert least <= length < 2 * least
    for factor in (2, 3, 5):
        while length % factor == 0:
            length //= factor
    assert length == 1


def test_process_with_memory_has_its_inefficiency() -> None:
    """Compare with (1 + p) / (1 - p) for the autoregressive process a(t+1) = p a(t) + noise."""
    noise = np.random.default_rng(3).normal(size=200_000)
    values, memory = np.empty_like(noise), 0.8
    values[0] = 0
    for t in range(1, len(noise)):
        values[t] = memory * values[t - 1] + noise[t]
    found = mdreel.analysis.statistical_inefficiency(values)
    assert abs(found - 9.0) < 1.0
    blocks = mdreel.analysis.block_averages(values)
    assert blocks.lengths[:3].tolist() == [1, 2, 4]
    assert blocks.mean == values.mean()
    expected = np.sqrt(found * values.var() / len(values))
    plateau = (blocks.lengths > 200) & (blocks.lengths < 2000)
    assert np.abs(blocks.errors[plateau] / expected - 1).max() < 0.25
    assert blocks.errors[0] < expected / 2
    np.testing.assert_allclose(blocks.uncertainties[0], blocks.errors[0] / np.sqrt(2 * (len(values) - 1)))


def test_correlation_refuses_invalid_input() -> None:
    for call, expected in (
        (lambda: mdreel.analysis.autocorrelation([]), "no frames"),
        (lambda: mdreel.analysis.autocorrelation([1.0, np.nan]), "frame 1 of the series is not finite"),
        (lambda: mdreel.analysis.autocorrelation(np.ones((3, 3)), legendre=3), "legendre must be"),
        (lambda: mdreel.analysis.autocorrelation(np.zeros((3, 3)), legendre=1), "frame 0 .* vector of length 0"),
        (
            lambda: mdreel.analysis.statistical_inefficiency(np.ones(5)),
            "a constant series has no statistical inefficiency",
        ),
        (lambda: mdreel.analysis.statistical_inefficiency(np.ones((5, 2))), "expected one quantity"),
        (lambda: mdreel.analysis.block_averages([1.0, 2.0, 3.0]), "need at least 4 frames"),
    ):
        with pytest.raises(MismatchError, match=expected):
            call()
