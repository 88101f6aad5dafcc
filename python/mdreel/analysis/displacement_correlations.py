"""Correlations between the displacements of atoms, from sums over frames."""

import math

import numpy as np
from numpy.typing import NDArray

STILL = 1e-12
"""Variance in Å^2 up to which an atom, or an atom along one direction, does not move: a fluctuation of 1e-6 Å."""


def traces_of(sums: NDArray[np.float64], n_atoms: int, n_frames: int) -> NDArray[np.float64]:
    """Return the mean inner product of the displacements of each pair of atoms.

    Parameters
    ----------
    sums : ndarray, shape (3 * n_atoms + n_atoms * (n_atoms + 1) / 2,), float64
        Sums of the displacements of each atom from a structure in Å, and of their inner products in Å^2, row after row
        of the upper triangle.
    n_atoms, n_frames : int
        Number of atoms and of frames.

    Returns
    -------
    ndarray, shape (n_atoms, n_atoms), float64
        Mean inner products of the displacements from the mean in Å^2. The array is exactly symmetric.
    """
    means = sums[: 3 * n_atoms].reshape(n_atoms, 3) / n_frames
    found, begin = np.empty((n_atoms, n_atoms)), 3 * n_atoms
    for i in range(n_atoms):
        end = begin + n_atoms - i
        row = sums[begin:end] / n_frames
        for axis in range(3):  # in this order, so that the bits do not depend on a library
            row -= means[i, axis] * means[i:, axis]
        found[i, i:] = found[i:, i] = row
        begin = end
    return found


def correlations_of(traces: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the traces divided by the fluctuations of both atoms, or NaN for atoms that are still, in place.

    Parameters
    ----------
    traces : ndarray, shape (n_atoms, n_atoms), float64
        Mean inner products of the displacements in Å^2, which are overwritten.

    Returns
    -------
    ndarray, shape (n_atoms, n_atoms), float64
        Correlations, from -1 to 1.
    """
    variance = np.diag(traces).copy()
    scale = np.sqrt(np.where(variance > STILL, variance, np.nan))
    for i in range(len(traces)):
        traces[i] /= scale[i] * scale
    np.clip(traces, -1.0, 1.0, out=traces)
    np.fill_diagonal(traces, np.where(variance > STILL, 1.0, np.nan))
    return traces


def information_of(
    sums: NDArray[np.float64], n_atoms: int, n_frames: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean inner products of the displacements, and the linear mutual information of each pair of atoms.

    Parameters
    ----------
    sums : ndarray, shape (n + n * (n + 1) / 2,), float64
        Sums of the displacement of each coordinate from a structure in Å, for ``n = 3 * n_atoms`` coordinates. Behind
        them, the sums of the products of all pairs in Å^2, row after row of the upper triangle.
    n_atoms, n_frames : int
        Number of atoms and of frames.

    Returns
    -------
    traces : ndarray, shape (n_atoms, n_atoms), float64
        See `traces_of`.
    information : ndarray, shape (n_atoms, n_atoms), float64
        Linear mutual information in nats, at least 0. It is infinite if the displacement of one atom along some
        direction follows from that of the other, and so on the diagonal. It is NaN for atoms that do not move along
        some direction.
    """
    n = 3 * n_atoms
    means, products = sums[:n] / n_frames, sums[n:]
    starts = np.arange(n) * n - np.arange(n) * (np.arange(n) - 1) // 2  # of the row of each coordinate

    def block_row(atom: int) -> NDArray[np.float64]:
        """Return the covariances of an atom with itself and all later ones, shape (3, 3 * n_later)."""
        row = np.empty((3, n - 3 * atom))
        for axis in range(3):
            i = 3 * atom + axis
            row[axis, axis:] = products[starts[i] : starts[i] + n - i] / n_frames - means[i] * means[i:]
            row[axis:3, axis] = row[axis, axis:3]
        return row

    own = np.array([block_row(atom)[:, :3] for atom in range(n_atoms)])
    whitening = _whitening(own)
    traces, information = np.empty((2, n_atoms, n_atoms))
    for i in range(n_atoms):
        row = block_row(i)
        traces[i, i:] = traces[i:, i] = row[0, 0::3] + row[1, 1::3] + row[2, 2::3]
        blocks = (whitening[i] @ row).reshape(3, -1, 3)
        # Correlations of the whitened displacements: ln det C = ln det C_i + ln det C_j + ln det (1 - W^T W).
        white = np.einsum("ajc,jdc->jad", blocks, whitening[i:])
        information[i, i:] = information[i:, i] = _information(white)
    np.fill_diagonal(information, np.where(np.isnan(whitening[:, 0, 0]), np.nan, np.inf))
    return traces, information


def generalized_correlation(information: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the generalized correlation, from 0 to 1, that corresponds to a mutual information in nats."""
    return np.sqrt(-np.expm1(information * (-2.0 / 3.0)))


def _whitening(covariances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix that makes each covariance matrix the identity, or NaN, shape (n_atoms, 3, 3)."""
    values, vectors = np.linalg.eigh(covariances)
    values[values[:, 0] <= STILL] = np.nan
    whitening: NDArray[np.float64] = vectors.transpose(0, 2, 1) / np.sqrt(values)[:, :, None]
    return whitening


def _information(white: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return -ln det (1 - W^T W) / 2 of each matrix W, shape (n, 3, 3)."""
    a, b, c, d, e, f = (
        float(i == j) - np.einsum("na,na->n", white[:, :, i], white[:, :, j])
        for i, j in ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
    )
    determinant = a * (b * c - d * d) - f * (f * c - d * e) + e * (f * d - b * e)
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = np.maximum(-0.5 * np.log(np.clip(determinant, 0.0, math.inf)), 0.0)
    return found
