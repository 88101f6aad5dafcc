"""Trajectories superposed on a reference and written to a file."""

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mdreel._core import Transformation
from mdreel.analysis.rmsd import RMSD
from mdreel.analysis.topology.fitted_groups import Weights
from mdreel.analysis.topology.matching import MASS_TOLERANCE
from mdreel.analysis.transformations import transformed
from mdreel.errors import MismatchError
from mdreel.execution.blocks import Frames
from mdreel.execution.executors.executor import Executor
from mdreel.results.results import Results
from mdreel.trajectory.convert import convert
from mdreel.trajectory.output_file import check_trajectory
from mdreel.trajectory.read import Stored
from mdreel.trajectory.selection import select_both
from mdreel.trajectory.write_report import Written

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe


class AlignTraj:
    """Superpose each frame on a reference, and write all atoms as they come to lie.

    Parameters
    ----------
    mobile : MDAnalysis.Universe or AtomGroup
        What is superposed.
    reference : MDAnalysis.Universe, AtomGroup or array_like, shape (n_atoms, 3), float64, optional
        Structure to superpose on, of which the same selection is taken; or positions of the selected atoms, Å. By
        default the mobile atoms themselves.
    select : str, (str, str) or dict
        The atoms that are brought closest to the reference; all are moved along. Or one selection for `mobile` and one
        for `reference`, as ``(mobile, reference)`` or ``{"mobile": ..., "reference": ...}``.
    filename : path
        The file to be written; its ending is its format.
    weights : {None, "mass"} or array_like, shape (n_selected,), float64
        How much each selected atom counts.
    ref_frame : int
        Frame of the reference's trajectory, 0-based.
    tol_mass : float
        By how much the masses of two atoms may differ that correspond, amu.
    match_atoms : bool
        Whether the atoms of a reference must correspond to those that they are compared with: same masses, same order
        of names and residues. False takes them in the order in which they come.
    force : bool
        Whether an existing file may be replaced. It stays until the new one is whole.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe.

    Attributes
    ----------
    results.rmsd : ndarray, shape (n_frames,), float64
        What is left between the selected atoms of each frame and the reference, Å.
    written : Written
        The file, and where the time went that writing took.

    Raises
    ------
    SelectionError
        If there are no atoms, or atoms without masses are to be weighted by them.
    MismatchError
        If reference or weights do not fit the atoms; atoms are compared in the order of the selections. If some do not
        match those of the reference.
    UnsupportedError
        If no format has the ending of the file.
    OSError
        If the file exists and is not to be replaced.

    Notes
    -----
    As `MDAnalysis.analysis.align.AlignTraj`, whose files differ by what XTC rounds. Velocities and forces turn with the
    atoms; cells stay as they are. Frames are superposed and encoded in parallel, and written in order. The trajectory
    is read twice: once the selected atoms alone, for the RMSD, before anything is written. Memory is flat, but for 24
    bytes a frame of results.

    Examples
    --------
    >>> import tempfile
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     aligned = AlignTraj(u, select="name CA", filename=f"{folder}/aligned.xtc").run()
    >>> aligned.results.rmsd.shape
    (98,)
    """

    def __init__(
        self,
        mobile: "Universe | AtomGroup",
        reference: "Universe | AtomGroup | ArrayLike | None" = None,
        select: str | tuple[str, str] | dict[str, str] = "all",
        filename: str | PathLike[str] | None = None,
        weights: Weights = None,
        ref_frame: int = 0,
        *,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        force: bool = False,
        trajectory: Stored | None = None,
    ) -> None:
        if filename is None:
            raise MismatchError("filename says where the aligned trajectory goes: give one")
        self._path = check_trajectory(filename, None, force)
        self._force = force
        structure: Any = reference if hasattr(reference, "select_atoms") else None
        atoms, theirs = select_both(mobile, structure, select)
        given = theirs if reference is structure else reference
        self._rmsd = RMSD(
            atoms, given, ref_frame, weights, tol_mass=tol_mass, match_atoms=match_atoms, trajectory=trajectory
        )
        self.results = Results()
        self.written: Written | None = None

    def run(
        self,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        frames: Frames | None = None,
        *,
        backend: str | Executor = "threads",
        n_workers: int | None = None,
        progress: bool = False,
        on_error: str = "raise",
        transformations: Sequence[Transformation] = (),
    ) -> Self:
        """Superpose and write frames.

        Parameters
        ----------
        start, stop, step, frames, n_workers, progress, on_error, transformations
            As of `Analysis.run`.
        backend : str or Executor
            Who computes the RMSD; threads write.

        Returns
        -------
        AlignTraj
            This alignment, with its results.

        Raises
        ------
        MdreelError, OSError
            As of `Analysis.run` and `convert`: nothing is left under the file's name then.
        """
        rmsd = self._rmsd.run(
            start,
            stop,
            step,
            frames,
            backend=backend,
            n_workers=n_workers,
            progress=progress,
            on_error=on_error,
            transformations=transformations,
        )
        source = transformed(rmsd.open(), transformations)
        self.written = convert(
            source.with_transformations([rmsd.fitting(source)]),
            self._path,
            frames=rmsd.frames,
            n_workers=n_workers,
            progress=progress,
            force=self._force,
            on_error=on_error,
        )
        self.results.rmsd = np.ascontiguousarray(rmsd.results.rmsd[:, 2])
        return self
