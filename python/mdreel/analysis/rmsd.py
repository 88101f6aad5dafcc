"""RMSD: how far each frame is from a reference structure."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, rmsd
from mdreel.analysis.analysis import Analysis, Trajectory
from mdreel.analysis.reference import is_group, positions_at, read_frame
from mdreel.analysis.selection import Selection
from mdreel.analysis.tally import Tally
from mdreel.analysis.weights import weights_of
from mdreel.errors import MismatchError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class RMSD(Analysis):
    """Root mean square distance of each frame to a reference, by default after optimal superposition.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms; one that is in the group more than once counts as often.
    reference : MDAnalysis.AtomGroup or array_like, shape (n_atoms, 3), float64, optional
        Structure to compare with: as many atoms in the same order, or their positions in Å. By default the atoms
        themselves.
    ref_frame : int
        Frame of the reference's trajectory, 0-based.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        How much each atom counts, both in the superposition and in the mean; their sum does not matter.
    superposition : bool
        Whether each frame is moved and rotated onto the reference first.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.rmsd : ndarray, shape (n_frames, 3), float64
        Frame, time in ps, RMSD in Å.

    Raises
    ------
    SelectionError
        If there are no atoms, or atoms without masses are to be weighted by them.
    UnsupportedError
        If the group is an UpdatingAtomGroup.
    MismatchError
        If reference or weights do not fit the atoms.

    Notes
    -----
    ``sqrt(sum_i w_i |R x_i + t - y_i|^2 / sum_i w_i)``, with the rotation R and translation t that make it smallest.
    R is never computed: the largest eigenvalue of a 4x4 matrix is enough (QCP) [1]_ [2]_. Coordinates are float32, as
    stored, sums are float64. Of a file, only what holds the wanted atoms is read and decompressed. The current frame
    of the Universe stays where it is.

    A reference in another Universe is read there; that Universe's frame is the same afterwards. Atoms are compared in
    the order of the groups (MDAnalysis's RMSD sorts both and drops repetitions). The times of a trajectory of several
    files are those in the files (MDAnalysis's RMSD adds up the lengths of the files).

    References
    ----------
    .. [1] D. L. Theobald, "Rapid calculation of RMSDs using a quaternion-based characteristic polynomial",
       Acta Cryst. A61 (2005) 478-480.
    .. [2] P. Liu, D. K. Agrafiotis, D. L. Theobald, "Fast determination of the optimal rotational matrix for
       macromolecular superpositions", J. Comput. Chem. 31 (2010) 1561-1563.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> rmsd = RMSD(mda.Universe(PSF, DCD).select_atoms("protein and name CA")).run()
    >>> rmsd.results.rmsd.shape
    (98, 3)
    """

    def __init__(
        self,
        atomgroup: "AtomGroup",
        reference: "AtomGroup | ArrayLike | None" = None,
        ref_frame: int = 0,
        weights: Literal["mass"] | ArrayLike | None = None,
        superposition: bool = True,
        *,
        trajectory: Trajectory | None = None,
    ) -> None:
        super().__init__(atomgroup, trajectory)
        self._weights = self._selection.add_up(weights_of(atomgroup, weights))
        self._superposition = superposition
        self._ref_frame = ref_frame
        self._reference_group: Any = None
        self._reference: NDArray[np.float64] | None = None
        if is_group(reference):
            given = Selection.of(reference, "reference").n_given
            if given != self._selection.n_given:
                raise MismatchError(f"atomgroup has {self._selection.n_given} atoms, reference has {given}")
            self._reference_group = reference
        elif reference is not None:
            self._reference = self._selection.gather(np.asarray(reference, np.float64), "reference")

    def computation(self, source: Source) -> Computation:
        """Return what compares a frame with the reference, which is read now."""
        return rmsd(self._reference_positions(source), self._weights, self._superposition)

    def conclude(self, tally: Tally) -> None:
        """Take the rows as they are: frame, time and RMSD."""
        self.results.rmsd = tally.rows

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the RMSD over time."""
        from mdreel.results.figure import time_series

        return time_series(self.times, self._values(), "RMSD (Å)", title, ax, frames=self.frames)

    def _reference_positions(self, source: Source) -> NDArray[np.float64]:
        """Read the reference: positions of the selection's atoms, shape (n_atoms, 3), Å."""
        if self._reference is not None:
            return self._reference
        group = self._reference_group
        if group is None:
            return read_frame(source, self._ref_frame, self._selection.atoms)
        is_of_source = group.universe is self.atomgroup.universe and self._trajectory is None
        positions = positions_at(group, self._ref_frame, source if is_of_source else None)
        return self._selection.gather(positions, "reference")

    def _values(self) -> NDArray[np.float64]:
        """Return the RMSD of each frame, shape (n_frames,), Å."""
        self._done()
        values: NDArray[np.float64] = self.results.rmsd[:, 2]
        return values

    def _facts(self) -> list[tuple[str, str]]:
        times, values = self.times, self._values()
        lowest, highest = int(values.argmin()), int(values.argmax())
        return [
            *super()._facts(),
            ("lowest", f"{values[lowest]:.3f} Å at {times[lowest]:,.6g} ps"),
            ("mean", f"{values.mean():.3f} Å"),
            ("highest", f"{values[highest]:.3f} Å at {times[highest]:,.6g} ps"),
        ]
