"""Orientational correlation functions of molecules that are present in some frames."""

import numpy as np
from numpy.typing import NDArray


def orientational_correlation(
    places: NDArray[np.int64],
    members: NDArray[np.int64],
    vectors: NDArray[np.float32],
    n_frames: int,
    tau_max: int,
    order: int,
    window_step: int | None,
) -> tuple[list[NDArray[np.float64]], NDArray[np.int64]]:
    """Return the correlation functions of the OH vector, the HH vector and the dipole of water molecules.

    Parameters
    ----------
    places, members : ndarray, shape (n_present,), int64
        Frame index, starting from 0, and number of the molecule of each occurrence, in any order.
    vectors : ndarray, shape (n_present, 2, 3), float32
        Vectors from the oxygen to both hydrogens in Å.
    n_frames : int
        Number of frames.
    tau_max : int
        Longest lag, in frames.
    order : {1, 2}
        Order of the Legendre polynomial.
    window_step : int or None
        Number of frames between the starts of consecutive windows. If None, it is the lag.

    Returns
    -------
    tuple of list of ndarray, shape (tau_max + 1,), float64, and ndarray, shape (tau_max + 1,), int64
        The functions, and the number of pairs of occurrences for each lag.

    Notes
    -----
    Each function is the mean over windows of the mean over the molecules that are present at both ends of the window.
    """
    # Molecule and frame are combined into one number; different molecules are farther apart than any lag.
    width = n_frames + tau_max + 1
    keys = members * width + places
    ascending = np.argsort(keys)
    keys, places = keys[ascending], places[ascending]
    first, second = np.moveaxis(vectors[ascending].astype(np.float64), 1, 0)
    kinds = [kind / np.linalg.norm(kind, axis=1, keepdims=True) for kind in (first, second - first, first + second)]
    functions = [np.full(tau_max + 1, np.nan) for _ in kinds]
    n_pairs = np.zeros(tau_max + 1, np.int64)
    for tau in range(tau_max + 1):
        starts, ends = _pairs(keys, places, tau, window_step)
        n_pairs[tau] = len(starts)
        for function, units in zip(functions, kinds, strict=True):
            function[tau] = _mean(units[starts], units[ends], places[starts], n_frames, order)
    return functions, n_pairs


def _pairs(
    keys: NDArray[np.int64], places: NDArray[np.int64], tau: int, window_step: int | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the occurrences at the starts of windows, and those of the same molecules at their ends."""
    starts = np.flatnonzero(places % (max(tau, 1) if window_step is None else window_step) == 0)
    ends = np.searchsorted(keys, keys[starts] + tau)
    is_there = ends < len(keys)
    is_there[is_there] = keys[ends[is_there]] == keys[starts[is_there]] + tau
    return starts[is_there], ends[is_there]


def _mean(
    one: NDArray[np.float64], other: NDArray[np.float64], windows: NDArray[np.int64], n_frames: int, order: int
) -> float:
    """Return the mean over windows of the mean Legendre polynomial of the angles between unit vectors."""
    cosines = one[:, 0] * other[:, 0] + one[:, 1] * other[:, 1] + one[:, 2] * other[:, 2]
    values = cosines if order == 1 else 1.5 * cosines**2 - 0.5
    counts = np.bincount(windows, minlength=n_frames)
    sums = np.bincount(windows, values, minlength=n_frames)
    used = counts > 0
    return float((sums[used] / counts[used]).mean()) if used.any() else float("nan")
