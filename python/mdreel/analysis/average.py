"""Average structure after superposition."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from numpy.typing import ArrayLike

from mdreel._core import Computation, Source
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.fluctuations import after_superposition, means_and_fluctuations
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.fitted_groups import ComparedAtoms
from mdreel.analysis.topology.matching import MASS_TOLERANCE, Matching
from mdreel.errors import UnsupportedError
from mdreel.execution.tally import Tally
from mdreel.foundation.atomic_files import check_target, replacing_by_ending
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import select_both

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
    filename : path, optional
        A file of the mean structure that `run` leaves; its ending is its format, of those that MDAnalysis writes. It is
        there when it is whole.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        How much each atom counts in the superposition.
    tol_mass : float
        By how much the masses of two atoms may differ that correspond, amu.
    match_atoms : bool
        Whether the atoms of a reference must correspond to those that they are compared with: same masses, same order
        of names and residues. False takes them in the order in which they come.
    ref_frame : int
        Frame of the reference's trajectory, 0-based.
    force : bool
        Whether an existing file may be replaced. It stays until the new one is whole.
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
        If the selections have different numbers of atoms, or weights do not fit them, or atoms do not
        correspond to those of the reference.
    UnsupportedError
        If MDAnalysis writes no format with the ending of the file.
    OSError
        When it is run: if the file exists and is not to be replaced, or cannot be written.

    Notes
    -----
    ``x_i = mean_t (R(t) x_i(t) + t(t))``, with the rotation and translation of each frame that `mdreel.RMSD` finds
    (QCP). Moved positions are float64; their displacements from the reference are added up exactly, in steps of 2^-36
    Å: the result has the same bits whichever the executor. Atoms are compared in the order of the selections, as
    MDAnalysis does. Memory does not grow with the number of frames, beyond 24 bytes for number, time and RMSD of each.

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
        filename: str | PathLike[str] | None = None,
        weights: Literal["mass"] | ArrayLike | None = None,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        *,
        ref_frame: int = 0,
        force: bool = False,
        trajectory: Trajectory | None = None,
    ) -> None:
        atoms, theirs = select_both(mobile, reference, select)
        super().__init__(atoms, trajectory)
        self._fitted = ComparedAtoms.of(atoms, theirs, ref_frame, weights, Matching(tol_mass, match_atoms))
        self.filename = None if filename is None else Path(filename)
        self._force = force
        if self.filename is not None:
            _check_ending(self.filename)

    @property
    def boundaries(self) -> Boundaries:
        """What it requires of molecules that the boundary of the cell may cut."""
        return Boundaries("atoms are superposed on the reference as they lie", whole=True)

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

    @property
    def leaves_file(self) -> bool:
        """Whether a run leaves a file besides the results."""
        return self.filename is not None

    def check_file(self) -> None:
        """Check that the file that was asked for can be written."""
        if self.filename is not None:
            check_structure(self.filename, self._force)

    def leave_file(self) -> None:
        """Write the file that was asked for."""
        if self.filename is not None:
            self.save(self.filename, self._force)

    def save(self, path: str | PathLike[str], force: bool = False) -> None:
        """Write the mean structure.

        Parameters
        ----------
        path : path
            The file, whole or not there; its ending is its format.
        force : bool
            Whether an existing file may be replaced.

        Raises
        ------
        UnsupportedError
            If MDAnalysis writes no format with this ending.
        OSError
            If the file exists and is not to be replaced, or cannot be written.
        """
        import MDAnalysis

        self._done()
        path = check_structure(Path(path), force)
        atoms = self.results.universe.atoms
        with replacing_by_ending(path, force) as named, MDAnalysis.Writer(str(named), len(atoms)) as writer:
            writer.write(atoms)

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw how far each frame is from the reference after superposition."""
        from mdreel.results.figure import time_series

        return time_series(self.times, self._rmsd, "RMSD from reference (Å)", title, ax, frames=self.frames)


def check_structure(path: Path, force: bool = False) -> Path:
    """Check that a structure can be written, without writing it.

    Parameters
    ----------
    path : Path
        The file; its ending is its format.
    force : bool
        Whether an existing file may be replaced.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    UnsupportedError
        If MDAnalysis writes no format with this ending.
    OSError
        If the file exists and is not to be replaced, or cannot be made.
    """
    _check_ending(path)
    check_target(path, force)
    return path


def _check_ending(path: Path) -> None:
    from MDAnalysis.coordinates.core import get_writer_for

    try:
        get_writer_for(str(path))
    except (TypeError, ValueError) as error:
        raise UnsupportedError(f"{path}: MDAnalysis writes no structures with this ending") from error
