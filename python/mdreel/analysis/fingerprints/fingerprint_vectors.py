"""Fingerprints of frames as vectors, and their similarity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.base.analysis import Analysis
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.size_check import check_size

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, ResidueGroup

_SMALLER = "analyse fewer frames, such as step=10, or fewer interactions"


class FingerprintVectors(Analysis):
    """Base class that shows the interactions in ``results.entries`` as vectors."""

    _groups: Sequence[AtomGroup]

    @property
    def residues(self) -> ResidueGroup:
        """The residues of the first group, in the order of the Universe."""
        return self._groups[0].residues

    @property
    def other_residues(self) -> ResidueGroup:
        """The residues of the second group, in the order of the Universe."""
        return self._groups[-1].residues

    @checked_arguments
    def matrix(self, count: bool = False) -> NDArray[np.bool_] | NDArray[np.uint32]:
        """Return the fingerprint of each frame as a row.

        Parameters
        ----------
        count : bool
            Whether to return the number of occurrences instead of their presence.

        Returns
        -------
        ndarray, shape (n_frames, n_columns), bool or uint32
            Presence or number of occurrences of each interaction, with the columns of ``results.pairs``.

        Raises
        ------
        MismatchError
            If the array does not fit into memory.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> from mdreel.analysis import InteractionFingerprint
        >>> u = mda.Universe(PSF, DCD)
        >>> lid, core = u.select_atoms("resid 122:159"), u.select_atoms("resid 1:121 160:214")
        >>> salt_bridges = InteractionFingerprint(lid, core, ["Cationic", "Anionic"]).run()
        >>> salt_bridges.matrix().shape
        (98, 6)
        """
        self._done()
        found = self.results
        shape = (self.n_frames, len(found.pairs))
        check_size(
            "fingerprints of all frames", float(np.prod(shape, dtype=np.float64)) * (4 if count else 1), _SMALLER
        )
        rows: NDArray[Any] = np.zeros(shape, np.uint32 if count else np.bool_)
        rows[np.repeat(np.arange(self.n_frames), found.counts), found.entries] = found.occurrences if count else True
        return rows

    @checked_arguments
    def to_bitvectors(self, library: Literal["numpy", "rdkit"] = "numpy") -> Any:
        """Return the fingerprint of each frame as bits.

        Parameters
        ----------
        library : {"numpy", "rdkit"}
            Package whose bit vectors are returned.

        Returns
        -------
        ndarray, shape (n_frames, n_columns), bool, or list of rdkit.DataStructs.ExplicitBitVect
            One vector per frame. The bits have the order of ``results.pairs``.

        Raises
        ------
        UnsupportedError
            If RDKit is not installed.
        MismatchError
            If `library` is unknown, or if the vectors do not fit into memory.
        """
        bits = self.matrix()
        if library == "numpy":
            return bits
        if library != "rdkit":
            raise MismatchError(f"library must be 'numpy' or 'rdkit', not {library!r}")
        try:
            from rdkit.DataStructs import ExplicitBitVect
        except ImportError as error:
            raise UnsupportedError("these bit vectors need RDKit: pip install 'mdreel[rdkit]'") from error
        vectors = []
        for row in bits:
            vectors.append(ExplicitBitVect(len(row)))
            vectors[-1].SetBitsFromList(np.flatnonzero(row).tolist())
        return vectors

    @checked_arguments
    def tanimoto(self, frame: int | None = None, count: bool = False) -> NDArray[np.float64]:
        """Return the Tanimoto similarity between the fingerprints of frames.

        Parameters
        ----------
        frame : int, optional
            Number of the analysed frame, starting from 0, with which all frames are compared. By default, all pairs of
            frames are compared.
        count : bool
            Whether to compare numbers of occurrences instead of their presence.

        Returns
        -------
        ndarray, shape (n_frames, n_frames) or (n_frames,), float64
            Similarities from 0 to 1. Two frames without interactions have the similarity 1.

        Raises
        ------
        MismatchError
            If the frame was not analysed, or if the array does not fit into memory.

        Notes
        -----
        The similarity of presence is the number of columns in both frames divided by the number of columns in at least
        one of them. For numbers of occurrences, these are the sums of the smaller and of the larger numbers.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> from mdreel.analysis import InteractionFingerprint
        >>> u = mda.Universe(PSF, DCD)
        >>> lid, core = u.select_atoms("resid 122:159"), u.select_atoms("resid 1:121 160:214")
        >>> salt_bridges = InteractionFingerprint(lid, core, ["Cationic", "Anionic"]).run()
        >>> float(salt_bridges.tanimoto(frame=0)[0])
        1.0
        """
        rows = self.matrix(count)
        if frame is not None:
            if not -self.n_frames <= frame < self.n_frames:
                raise MismatchError(f"frame {frame} was not analysed: give a number below {self.n_frames:,}")
            return _similarity(rows, rows[frame])
        check_size("similarities of all pairs of frames", 8.0 * len(rows) ** 2, _SMALLER)
        if count:
            return np.array([_similarity(rows, row) for row in rows]).reshape(len(rows), len(rows))
        bits = rows.astype(np.float32)
        shared = (bits @ bits.T).astype(np.float64)
        sizes = shared.diagonal()
        either = sizes[:, None] + sizes - shared
        return _ratio(shared, either)


def _similarity(rows: NDArray[Any], row: NDArray[Any]) -> NDArray[np.float64]:
    """Return the similarity of each row to one row."""
    shared = np.minimum(rows, row).sum(axis=1, dtype=np.float64)
    either = np.maximum(rows, row).sum(axis=1, dtype=np.float64)
    return _ratio(shared, either)


def _ratio(shared: NDArray[np.float64], either: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quotients, or 1 where both are 0."""
    found = np.ones_like(shared)
    np.divide(shared, either, out=found, where=either > 0)
    return found
