"""Average structures: mean positions after superposition."""

from typing import TYPE_CHECKING, Literal

from numpy.typing import ArrayLike

from mdreel._core import Computation, Source
from mdreel.analysis.analysis import Analysis, Trajectory
from mdreel.analysis.fluctuations import after_superposition, means_and_fluctuations
from mdreel.analysis.groups import ComparedAtoms
from mdreel.analysis.selection import select_both
from mdreel.analysis.tally import Tally

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe


class AverageStructure(Analysis):
    """Mean position of each atom, after each frame was superposed on a reference.

    Parameters
    ----------
    mobile : MDAnalysis.Universe or AtomGroup
        The system.
    reference : MDAnalysis.Universe or AtomGroup, optional
        What is superposed on; by default the system itself.
    select : str, (str, str) or dict
        Atoms that are superposed and averaged, in MDAnalysis's selection language; or one selection for `mobile` and
        one for `reference`, as ``(mobile, reference)`` or ``{"mobile": ..., "reference": ...}``.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        How much each atom counts in the superposition.
    ref_frame : int
        Frame of the reference's trajectory, 0-based.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.positions : ndarray, shape (n_atoms, 3), float64
        Mean position of each atom, Å.
    results.universe : MDAnalysis.Universe
        A Universe of the atoms alone, with these positions (float32).
    results.rmsd : float
        Mean over frames of the RMSD that superposition leaves, Å.
    results.rmsf : ndarray, shape (n_atoms,), float64
        Root mean square fluctuation of each atom about its mean position, Å.

    Raises
    ------
    SelectionError
        If there are no atoms, or a selection cannot be understood.
    MismatchError
        If the selections have different numbers of atoms, or weights do not fit them.

    Notes
    -----
    ``x_i = mean_t (R(t) x_i(t) + t(t))``, with the rotation and translation of each frame that `mdreel.RMSD` finds
    (QCP). Moved positions are float64; their displacements from the reference are added up exactly, in steps of 2^-36
    Å: the result has the same bits whichever the executor. Memory does not grow with the number of frames, beyond 24
    bytes for number, time and RMSD of each.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> average = AverageStructure(mda.Universe(PSF, DCD), select="protein and name CA").run()
    >>> average.results.positions.shape
    (214, 3)
    >>> average.results.universe.atoms.n_atoms
    214
    """

    def __init__(
        self,
        mobile: "Universe | AtomGroup",
        reference: "Universe | AtomGroup | None" = None,
        select: str | tuple[str, str] | dict[str, str] = "all",
        weights: Literal["mass"] | ArrayLike | None = None,
        ref_frame: int = 0,
        *,
        trajectory: Trajectory | None = None,
    ) -> None:
        atoms, theirs = select_both(mobile, reference, select)
        super().__init__(atoms, trajectory)
        self._fitted = ComparedAtoms.of(atoms, theirs, ref_frame, weights)

    def computation(self, source: Source) -> Computation:
        """Return what superposes a frame and adds up displacements."""
        universe = self.atomgroup.universe if self._trajectory is None else None
        return after_superposition(source, self._fitted, self.atoms, self.atoms, universe)

    def conclude(self, tally: Tally) -> None:
        """Make the structure of the sums."""
        import MDAnalysis

        positions, fluctuations = means_and_fluctuations(tally)
        places = self._selection.places
        self.results.positions, self.results.rmsf = positions[places], fluctuations[places]
        self.results.rmsd = float(tally.values[:, 0].mean())
        self._rmsd = tally.values[:, 0].copy()
        universe = MDAnalysis.Merge(self.atomgroup)
        universe.load_new(self.results.positions.reshape(1, -1, 3))
        self.results.universe = universe

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw how far each frame is from the reference after superposition."""
        from mdreel.results.figure import time_series

        return time_series(self.times, self._rmsd, "RMSD from reference (Å)", title, ax, frames=self.frames)
