"""Time autocorrelation, statistical inefficiency and block averages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel.errors import MismatchError
from mdreel.foundation.arguments import checked_arguments

Legendre = Literal[1, 2]
"""Order of the Legendre polynomial of the cosine between two directions: 1 for cos, 2 for (3 cos^2 - 1) / 2."""


@checked_arguments
def autocorrelation(
    timeseries: ArrayLike,
    *,
    max_lag: int | None = None,
    normalize: bool = True,
    subtract_mean: bool = True,
    vectors: bool = False,
    legendre: Legendre | None = None,
) -> NDArray[np.float64]:
    """Return the autocorrelation function of a quantity.

    Parameters
    ----------
    timeseries : array_like, shape (n_frames, ...), float64
        Values of one or more quantities in frames that are evenly spaced in time.
    max_lag : int, optional
        Largest lag in frames. The default is the length of the series.
    normalize : bool
        Whether to divide by the value at lag 0.
    subtract_mean : bool
        Whether to correlate the deviations from the mean. This is ignored for Legendre polynomials.
    vectors : bool
        Whether the last axis contains the components of vectors, so that products are scalar products.
    legendre : {1, 2}, optional
        Order of the Legendre polynomial. If given, the polynomial of the cosine between the directions of vectors will
        be averaged.

    Returns
    -------
    ndarray, shape (n_lags, ...), float64
        ``C(m) = 1/(N-m) sum_t a(t) a(t+m)``. The vector axis is removed.

    Raises
    ------
    MismatchError
        When there are no frames, values are not finite, a vector has zero length, or the order of the polynomial is
        unknown.

    Notes
    -----
    The function is computed using zero-padded Fourier transforms (Wiener-Khinchin theorem), so the run time grows as n
    log n with the number of frames. The second-order polynomial can be computed from products of coordinates: ``cos^2 =
    sum_ij u_i u_j(0) u_i u_j(t)``.

    Examples
    --------
    >>> import numpy as np
    >>> from mdreel.analysis import autocorrelation
    >>> angle = np.linspace(0, 4 * np.pi, 100)
    >>> directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> function = autocorrelation(directions, legendre=1, max_lag=30)
    >>> bool(np.allclose(function, np.cos(angle[:31])))
    True
    """
    values = np.asarray(timeseries, np.float64)
    if values.ndim == 0 or not len(values):
        raise MismatchError("the series has no frames: give at least one")
    if not np.isfinite(values).all():
        raise MismatchError(f"frame {int(np.argwhere(~np.isfinite(values))[0][0])} of the series is not finite")
    if legendre not in (None, 1, 2):
        raise MismatchError(f"legendre must be 1, 2 or None, not {legendre!r}")
    if max_lag is not None and max_lag < 0:
        raise MismatchError(f"max_lag must be 0 or more frames, not {max_lag}")
    if values.ndim == 1 and (vectors or legendre is not None):
        raise MismatchError(f"vectors need a series of shape (n_frames, ..., 3), not {values.shape}")
    n_lags = 1 + (len(values) - 1 if max_lag is None else min(max_lag, len(values) - 1))
    if legendre is not None:
        found = _of_directions(values, legendre, n_lags)
    else:
        if subtract_mean:
            values = values - values.mean(axis=0)
        products = _products(values, n_lags)
        found = products.sum(axis=-1) if vectors else products
    if normalize:
        with np.errstate(invalid="ignore"):
            found = found / found[0]
    return found


def _of_directions(values: NDArray[np.float64], legendre: Legendre, n_lags: int) -> NDArray[np.float64]:
    lengths = np.linalg.norm(values, axis=-1, keepdims=True)
    if not lengths.all():
        raise MismatchError(f"frame {int(np.argwhere(lengths == 0)[0][0])} of the series has a vector of length 0")
    directions = values / lengths
    if legendre == 1:
        first: NDArray[np.float64] = _products(directions, n_lags).sum(axis=-1)
        return first
    tensors = (directions[..., :, None] * directions[..., None, :]).reshape(*directions.shape[:-1], -1)
    second: NDArray[np.float64] = 1.5 * _products(tensors, n_lags).sum(axis=-1) - 0.5
    return second


def _products(values: NDArray[np.float64], n_lags: int) -> NDArray[np.float64]:
    """Return the mean products of values at each lag, shape (n_lags, ...)."""
    n_frames = len(values)
    length = fft_length(n_frames + n_lags - 1)
    transform = np.fft.rfft(values, length, axis=0)
    products = np.fft.irfft(transform.real**2 + transform.imag**2, length, axis=0)[:n_lags]
    n_pairs = n_frames - np.arange(n_lags)
    return products / n_pairs.reshape(-1, *[1] * (values.ndim - 1))


def fft_length(least: int) -> int:
    """Return the smallest length that is at least `least` and has no prime factors above 5, for fast transforms."""
    best = 1 << max(least - 1, 0).bit_length()
    fives = 1
    while fives < best:
        odd = fives
        while odd < best:
            twos = 1 << max(-(-least // odd) - 1, 0).bit_length()
            best = min(best, odd * twos)
            odd *= 3
        fives *= 5
    return best


@checked_arguments
def statistical_inefficiency(timeseries: ArrayLike) -> float:
    """Estimate the statistical inefficiency ``g = 1 + 2 tau`` of a series.

    Parameters
    ----------
    timeseries : array_like, shape (n_frames,), float64
        Values of one quantity in frames that are evenly spaced in time.

    Returns
    -------
    float
        The number of frames per independent sample, at least 1. You can use it to obtain the standard error of the
        mean, ``sqrt(g variance / n_frames)``.

    Raises
    ------
    MismatchError
        If your series contains more than one quantity or has no variance.

    Notes
    -----
    The estimate is ``g = 1 + 2 sum_m (1 - m/N) C(m)``, where the sum ends as soon as the normalised autocorrelation C
    is no longer positive (Chodera et al., J. Chem. Theory Comput. 3 (2007) 26).

    Examples
    --------
    >>> import numpy as np
    >>> from mdreel.analysis import statistical_inefficiency
    >>> noise = np.random.default_rng(0).normal(size=4000)
    >>> statistical_inefficiency(noise) < 1.2
    True
    >>> round(statistical_inefficiency(np.repeat(noise, 10)))
    10
    """
    values = _one_series(timeseries)
    if np.ptp(values) == 0:
        raise MismatchError("a constant series has no statistical inefficiency")
    correlation = autocorrelation(values)
    positive = correlation > 0
    end = len(correlation) if positive.all() else int(np.argmin(positive))
    weights = 1 - np.arange(1, end) / len(values)
    return max(1.0, 1 + 2 * float(weights @ correlation[1:end]))


@dataclass(frozen=True)
class BlockAverages:
    """Error estimates for a mean from blocks of increasing length.

    Attributes
    ----------
    lengths : ndarray, shape (n_lengths,), int64
        Number of frames in a block.
    errors : ndarray, shape (n_lengths,), float64
        Standard error of the mean, assuming that blocks of this length are independent. For long blocks, this estimate
        will converge.
    uncertainties : ndarray, shape (n_lengths,), float64
        Standard error of `errors`.
    mean : float
        Mean of the series.
    """

    lengths: NDArray[np.int64]
    errors: NDArray[np.float64]
    uncertainties: NDArray[np.float64]
    mean: float


@checked_arguments
def block_averages(timeseries: ArrayLike) -> BlockAverages:
    """Estimate the error of a mean by block averaging (Flyvbjerg and Petersen 1989).

    Parameters
    ----------
    timeseries : array_like, shape (n_frames,), float64
        Values of one quantity in at least 4 frames that are evenly spaced in time.

    Returns
    -------
    BlockAverages
        Estimates for blocks of 1, 2, 4, ... frames, as long as there are at least 4 blocks. Frames at the end are
        ignored if they do not fill a complete block.

    Raises
    ------
    MismatchError
        If your series contains more than one quantity or too few frames.

    Notes
    -----
    For n blocks, the estimate is ``error^2 = variance of the block means / (n - 1)``, and its uncertainty is ``error /
    sqrt(2 (n - 1))`` (H. Flyvbjerg, H. G. Petersen, J. Chem. Phys. 91 (1989) 461).

    Examples
    --------
    >>> import numpy as np
    >>> from mdreel.analysis import block_averages
    >>> noise = np.random.default_rng(0).normal(size=4096)
    >>> found = block_averages(noise)
    >>> bool(abs(found.errors[0] - 1 / 64) < 1e-3)
    True
    """
    values = _one_series(timeseries)
    if len(values) < 4:
        raise MismatchError(f"block averages need at least 4 frames, got {len(values)}")
    lengths, errors, uncertainties = [], [], []
    means, length = values, 1
    while len(means) >= 4:
        error = float(np.sqrt(means.var() / (len(means) - 1)))
        lengths.append(length)
        errors.append(error)
        uncertainties.append(error / np.sqrt(2 * (len(means) - 1)))
        means = means[: len(means) // 2 * 2].reshape(-1, 2).mean(axis=1)
        length *= 2
    return BlockAverages(np.array(lengths), np.array(errors), np.array(uncertainties), float(values.mean()))


def _one_series(timeseries: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(timeseries, np.float64)
    if values.ndim != 1 or not len(values):
        raise MismatchError(f"expected one quantity, shape (n_frames,), got {values.shape}")
    return values
