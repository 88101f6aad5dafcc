"""Trajectories with each frame superposed on a reference."""

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
from mdreel.trajectory.open import Stored
from mdreel.trajectory.output_file import check_trajectory
from mdreel.trajectory.selection import select_both
from mdreel.trajectory.write_report import Written

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe


class AlignTraj:
    """Superpose each frame on a reference and write the moved frames to a trajectory.

    Parameters
    ----------
    mobile : MDAnalysis.Universe or AtomGroup
        The system.
    reference : MDAnalysis.Universe, AtomGroup or array_like, shape (n_atoms, 3), float64, optional
        Structure to superpose on, to which the same selection is applied; or positions of the selected atoms, Å. By
        default the mobile atoms themselves.
    select : str, (str, str) or dict
        The atoms that are superposed; all other atoms move with them. Give different selections for `mobile` and
        `reference` as ``(mobile, reference)`` or ``{"mobile": ..., "reference": ...}``.
    filename : path
        The output file. The file extension selects the format.
    weights : {None, "mass"} or array_like, shape (n_selected,), float64
        Weight of each selected atom.
    ref_frame : int
        Frame of the reference's trajectory, 0-based.
    tol_mass : float
        Largest difference between the masses of two corresponding atoms, amu.
    match_atoms : bool
        Whether the atoms of a reference must correspond to the atoms compared with them: same masses, and names and
        residues in the same order. With False, the atoms are compared in the given order without this check.
    force : bool
        Whether an existing file may be replaced. The old file stays until the new one is complete.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe.

    Attributes
    ----------
    results.rmsd : ndarray, shape (n_frames,), float64
        RMSD of the selected atoms from the reference after superposition, Å.
    written : Written
        Report on the written file, with the timing of the writing.

    Raises
    ------
    SelectionError
        If there are no atoms, or the topology lacks the masses for mass weights.
    MismatchError
        If reference or weights do not fit the atoms, which are compared in the order of the selections. If atoms do not
        correspond to those of the reference.
    UnsupportedError
        If no format has the file extension.
    OSError
        If the file exists and `force` is false.

    Notes
    -----
    Results agree with `MDAnalysis.analysis.align.AlignTraj` up to the rounding of XTC. Velocities and forces rotate
    with the atoms; cells stay unchanged. Frames are superposed and encoded in parallel, and written in order. The
    trajectory is read twice: the selected atoms for the RMSD, then all atoms for the output. Memory does not grow with
    the number of frames, except for 24 bytes of results for each frame.

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
            raise MismatchError("the aligned trajectory needs an output file: give a filename")
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
        verbose: bool | None = None,
        n_workers: int | None = None,
        backend: str | Executor | None = None,
        on_error: str = "raise",
        transformations: Sequence[Transformation] = (),
    ) -> Self:
        """Superpose the frames and write them.

        Parameters
        ----------
        start, stop, step, frames, verbose, n_workers, on_error, transformations
            See `Analysis.run`.
        backend : str or Executor
            Executor that computes the RMSD. Threads write the frames.

        Returns
        -------
        AlignTraj
            This alignment, with its results.

        Raises
        ------
        MdreelError, OSError
            See `Analysis.run` and `convert`. No partial file remains.
        """
        rmsd = self._rmsd.run(
            start,
            stop,
            step,
            frames,
            backend=backend,
            n_workers=n_workers,
            verbose=verbose,
            on_error=on_error,
            transformations=transformations,
        )
        source = transformed(rmsd.open(), transformations)
        self.written = convert(
            source.with_transformations([rmsd.fitting(source)]),
            self._path,
            frames=rmsd.frames,
            n_workers=n_workers,
            progress=bool(verbose),
            force=self._force,
            on_error=on_error,
        )
        self.results.rmsd = np.ascontiguousarray(rmsd.results.rmsd[:, 2])
        return self
