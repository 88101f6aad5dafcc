"""RMSF: how far atoms move about their mean positions."""

from typing import TYPE_CHECKING

import numpy as np

from mdreel._core import Computation, Source, fluctuation
from mdreel.analysis.analysis import Analysis
from mdreel.analysis.reference import read_frame
from mdreel.analysis.tally import Tally

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class RMSF(Analysis):
    """Root mean square fluctuation of each atom about its mean position, with the coordinates as they are.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.rmsf : ndarray, shape (n_atoms,), float64
        RMSF of each atom in the order of the group, Å.
    results.positions : ndarray, shape (n_atoms, 3), float64
        Mean position of each atom, Å.

    Raises
    ------
    SelectionError
        If there are no atoms.
    UnsupportedError
        If the group is an UpdatingAtomGroup.

    Notes
    -----
    ``sqrt(mean_t |x_i(t) - mean_t x_i|^2)``, over all frames alike. Superimpose the frames first, if the molecule
    drifts or turns.

    Displacements from the first frame and their squares are added up exactly, in steps of 2^-36 Å and 2^-27 Å^2: the
    result has the same bits whichever the executor, with however many workers and blocks. Memory does not grow with
    the number of frames, beyond 16 bytes for number and time of each.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> rmsf = RMSF(mda.Universe(PSF, DCD).select_atoms("protein and name CA")).run()
    >>> rmsf.results.rmsf.shape
    (214,)
    """

    def computation(self, source: Source) -> Computation:
        """Return what adds up displacements from the first frame."""
        return fluctuation(read_frame(source, 0, self.atoms))

    def conclude(self, tally: Tally) -> None:
        """Make means and fluctuations of the sums."""
        (reference,) = tally.arguments
        sums = tally.sums.reshape(-1, 4) / tally.n_frames
        displacement, square = sums[:, :3], sums[:, 3]
        places = self._selection.places
        self.results.positions = (reference + displacement)[places]
        # What is left of a difference may lie below 0 by the rounding of the square.
        self.results.rmsf = np.sqrt(np.maximum(square - (displacement**2).sum(axis=1), 0.0))[places]

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the RMSF along the residues."""
        from mdreel.results.profile import profile

        return profile(self.atomgroup.resids, self.results.rmsf, "Residue", "RMSF (Å)", title, ax)
