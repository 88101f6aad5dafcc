"""Average structures after superposition."""

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
    """Mean position of each atom after superposition of each frame on a reference.

    Parameters
    ----------
    mobile : MDAnalysis.Universe or AtomGroup
        The system.
    reference : MDAnalysis.Universe or AtomGroup, optional
        Structure to superpose on; by default the system itself.
    select : str, (str, str) or dict
        Atoms that are superposed and averaged, in MDAnalysis's selection language. Give different selections for
        `mobile` and `reference` as ``(mobile, reference)`` or ``{"mobile": ..., "reference": ...}``.
    filename : path, optional
        Output file of `run` for the mean structure. The file extension selects a format that MDAnalysis can write. The
        file appears only when it is complete.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        Weight of each atom in the superposition.
    tol_mass : float
        Largest difference between the masses of two corresponding atoms, amu.
    match_atoms : bool
        Whether the atoms of a reference must correspond to the atoms compared with them: same masses, and names and
        residues in the same order. With False, the atoms are compared in the given order without this check.
    ref_frame : int
        Frame of the reference's trajectory, 0-based.
    force : bool
        Whether an existing file may be replaced. The old file stays until the new one is complete.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made from a topology alone is then enough.

    Attributes
    ----------
    results.positions : ndarray, shape (n_atoms, 3), float64
        Mean position of each atom, Å.
    results.universe : MDAnalysis.Universe
        A Universe of the selected atoms with these positions (float32).
    results.rmsd : float
        Mean over frames of the RMSD after superposition, Å.
    results.rmsf : ndarray, shape (n_atoms,), float64
        Root mean square fluctuation of each atom about its mean position, Å.

    Raises
    ------
    SelectionError
        If there are no atoms, or a selection is not valid.
    MismatchError
        If the selections have different numbers of atoms, or weights do not fit them, or atoms do not
        correspond to those of the reference.
    UnsupportedError
        If MDAnalysis cannot write a format with the file extension.
    OSError
        In `run`, if the file exists and `force` is false, or it cannot be written.

    Notes
    -----
    The mean position is ``x_i = mean_t (R(t) x_i(t) + t(t))``, with the rotation and translation of each frame that
    `mdreel.RMSD` finds (QCP). Moved positions are float64. Sums of their displacements from the reference are exact, in
    steps of 2^-36 Å, so the results are bitwise identical for every executor. Atoms are compared in the order of the
    selections, as in MDAnalysis. Memory does not grow with the number of frames, except for 24 bytes for number, time
    and RMSD of each frame.

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
        """What the analysis requires of molecules that the cell boundary may cut."""
        return Boundaries("atoms are superposed on the reference as they lie", whole=True)

    def computation(self, source: Source) -> Computation:
        """Return the computation that superposes each frame and sums displacements."""
        universe = self.atomgroup.universe if self._trajectory is None else None
        return after_superposition(source, self._fitted, self.atoms, self.atoms, universe)

    def conclude(self, tally: Tally) -> None:
        """Compute the mean structure from the sums."""
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
    def writes_file(self) -> bool:
        """Whether a run writes a file besides the results."""
        return self.filename is not None

    def check_output_file(self) -> None:
        """Check that the requested file can be written."""
        if self.filename is not None:
            check_structure(self.filename, self._force)

    def write_output(self) -> None:
        """Write the requested file."""
        if self.filename is not None:
            self.save(self.filename, self._force)

    def save(self, path: str | PathLike[str], force: bool = False) -> None:
        """Write the mean structure.

        Parameters
        ----------
        path : path
            The output file. It appears only when it is complete. The file extension selects the format.
        force : bool
            Whether an existing file may be replaced.

        Raises
        ------
        UnsupportedError
            If MDAnalysis cannot write a format with this file extension.
        OSError
            If the file exists and `force` is false, or it cannot be written.
        """
        import MDAnalysis

        self._done()
        path = check_structure(Path(path), force)
        atoms = self.results.universe.atoms
        with replacing_by_ending(path, force) as named, MDAnalysis.Writer(str(named), len(atoms)) as writer:
            writer.write(atoms)

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the RMSD of each frame from the reference after superposition."""
        from mdreel.results.figure import time_series

        return time_series(self.times, self._rmsd, "RMSD from reference (Å)", title, ax, frames=self.frames)


def check_structure(path: Path, force: bool = False) -> Path:
    """Check that a structure can be written, without writing it.

    Parameters
    ----------
    path : Path
        The file. The file extension selects the format.
    force : bool
        Whether an existing file may be replaced.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    UnsupportedError
        If MDAnalysis cannot write a format with this file extension.
    OSError
        If the file exists and `force` is false, or it cannot be created.
    """
    _check_ending(path)
    check_target(path, force)
    return path


def _check_ending(path: Path) -> None:
    from MDAnalysis.coordinates.core import get_writer_for

    try:
        get_writer_for(str(path))
    except (TypeError, ValueError) as error:
        raise UnsupportedError("MDAnalysis writes no structures with this ending", path=path) from error
