"""RMSD: how far each frame is from a reference structure."""

from collections.abc import Sequence
from os import PathLike
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import FrameSet, RmsdKernel, Source
from mdreel.analysis.analysis import Analysis, Trajectory
from mdreel.analysis.selection import Selection
from mdreel.blocks import select_frames
from mdreel.damage import warn_of_damage
from mdreel.errors import MismatchError, SelectionError
from mdreel.executors.access import Access
from mdreel.executors.executor import Executor
from mdreel.executors.find import find_executor
from mdreel.executors.job import Job, Outcome
from mdreel.executors.memory import bytes_of
from mdreel.run import run
from mdreel.sources.name import name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup

Frames: TypeAlias = Sequence[int] | Sequence[bool] | NDArray[np.integer] | NDArray[np.bool_]


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
        self._weights = self._selection.add_up(_weights(atomgroup, weights))
        self._superposition = superposition
        self._ref_frame = ref_frame
        self._reference_group: Any = None
        self._reference: NDArray[np.float64] | None = None
        if _is_group(reference):
            given = Selection.of(reference, "reference").n_given
            if given != self._selection.n_given:
                raise MismatchError(f"atomgroup has {self._selection.n_given} atoms, reference has {given}")
            self._reference_group = reference
        elif reference is not None:
            self._reference = self._selection.gather(np.asarray(reference, np.float64), "reference")

    def run(
        self,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        frames: Frames | None = None,
        *,
        backend: str | Executor = "threads",
        n_workers: int | None = None,
        access: Access | None = None,
        n_parts: int | None = None,
        progress: bool = False,
        memory: str | int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        on_error: str = "raise",
    ) -> Self:
        """Compute the RMSD of frames.

        Parameters
        ----------
        start, stop, step : int, optional
            Which frames, as of a Python slice.
        frames : array_like, shape (n_wanted,), int, or shape (n_frames,), bool, optional
            Frame numbers, or which frames are wanted; instead of a slice.
        backend : {"threads", "serial", "processes", "dask", "mpi"} or Executor
            Who runs the blocks.
        n_workers : int, optional
            How many workers; by default one for each processor.
        access : {"shared", "chain", "segments", "hdf5-independent", "hdf5-collective"}, optional
            How workers come to the trajectory: all read one file; or several as one, whose blocks may go on in the next
            file; or several of which each block lies in one, and each share with ``schedule="static"`` is whole files.
            By default the first or the second. The others are for MPI and one file of H5MD: ranks open it together, and
            the library of HDF5 reads it for each on its own, or for all at once.
        n_parts : int, optional
            How many blocks, each handed out alone; by default as many as suit the file and the number of workers. Of
            segments, each has one at least.
        progress : bool
            Whether progress is shown, on a terminal or in a notebook.
        memory : str or int, optional
            What all processes together may take, in bytes or as ``"2G"``; a run that cannot keep to it is refused.
        checkpoint : path, optional
            A file in which what is finished is kept: a run that was killed goes on where it was when it is called
            again, with any backend. The file stays; it is refused for another trajectory or analysis.
        on_error : {"raise", "stop", "skip"}
            What is done where a frame is damaged: it is an error, the trajectory ends before it, or it is left out.
            What is left out is in `damage`, and warned of.

        Returns
        -------
        RMSD
            This analysis, with its results.

        Raises
        ------
        FrameIndexError
            If a frame does not exist, or none is left.
        FormatError, OSError
            If the trajectory cannot be read; whatever `on_error`, if no frame of it can, or the reference cannot.
        MismatchError
            If the trajectory has other atoms than the Universe, or a coordinate is no finite number: such a frame is
            not damaged, and not left out. If `access` does not suit the number of files, or the schedule.
        UnsupportedError
            If the trajectory of the Universe cannot be read by mdreel, or not by this `access`.

        Notes
        -----
        The result has the same bits whichever the executor, with however many workers and blocks.
        """
        started_ns = perf_counter_ns()
        executor = find_executor(backend, n_workers)
        budget = None if memory is None else bytes_of(memory)

        def compute() -> Outcome:
            source = self._open().with_on_error(on_error)
            selected = select_frames(source, start, stop, step, frames)
            kernel = RmsdKernel(self._reference_positions(source), self._weights, self._superposition)
            return run(
                Job(source, self._selection.atoms, kernel),
                selected,
                executor,
                access=access,
                n_parts=n_parts,
                checkpoint=checkpoint,
                memory=budget,
                title="RMSD",
                progress=progress,
                started_ns=started_ns,
            )

        self._outcome = executor.share(compute)
        self.results.rmsd = self._outcome.series
        warn_of_damage(self._outcome.damage, on_error, stacklevel=2)
        return self

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the RMSD over time.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; by default a new figure is made.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from mdreel.results.figure import time_series

        outcome = self._done()
        title = f"{self._selection.n_given:,} atoms"
        return time_series(outcome.times, outcome.values, "RMSD (Å)", title, ax, frames=self.frames)

    def _reference_positions(self, source: Source) -> NDArray[np.float64]:
        """Read the reference: positions of the selection's atoms, shape (n_atoms, 3), Å."""
        if self._reference is not None:
            return self._reference
        group = self._reference_group
        if group is None:
            return _read_frame(source, self._ref_frame, self._selection.atoms)
        if group.universe is self._atomgroup.universe and self._trajectory is None:
            chosen = Selection.of(group, "reference")
            positions = _read_frame(source, self._ref_frame, chosen.atoms)[chosen.places]
        else:
            positions = _positions_at(group, self._ref_frame)
        return self._selection.gather(positions, "reference")

    def _facts(self) -> list[tuple[str, str]]:
        times, values = self.times, self._done().values
        lowest, highest = int(values.argmin()), int(values.argmax())
        return [
            *super()._facts(),
            ("lowest", f"{values[lowest]:.3f} Å at {times[lowest]:,.6g} ps"),
            ("mean", f"{values.mean():.3f} Å"),
            ("highest", f"{values[highest]:.3f} Å at {times[highest]:,.6g} ps"),
        ]


def _is_group(reference: object) -> bool:
    return hasattr(reference, "universe") and hasattr(reference, "ix")


def _weights(atomgroup: "AtomGroup", weights: Literal["mass"] | ArrayLike | None) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    if not isinstance(weights, str):
        return np.asarray(weights, np.float64)
    if weights != "mass":
        raise MismatchError(f"weights must be None, 'mass' or an array, not {weights!r}")
    try:
        return np.asarray(atomgroup.masses, np.float64)
    except AttributeError as error:
        raise SelectionError("the topology has no masses to weight the atoms by") from error


def _read_frame(source: Source, frame: int, atoms: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Read positions of one frame, shape (n_atoms, 3), Å; a negative frame counts from the end."""
    # The first frame is there, and one that grows will have it; others are looked up among all.
    is_known = frame == 0 or (source.is_growing and frame > 0)
    chosen = FrameSet.range(frame, 1, 1) if is_known else select_frames(source, frames=[frame])
    assert chosen is not None
    positions = np.array(source.read(chosen, atoms).positions[0], np.float64)
    wrong = np.flatnonzero(~np.isfinite(positions).all(axis=1))
    if wrong.size:
        found = f"atom {atoms[wrong[0]]} of the reference is at {positions[wrong[0]].tolist()}"
        raise MismatchError(f"{name_of(source)}: frame {frame}: {found}: expected finite coordinates")
    return positions


def _positions_at(group: "AtomGroup", frame: int) -> NDArray[np.float64]:
    """Read positions of a group at a frame of its Universe, shape (n_atoms, 3), Å; the current frame stays."""
    trajectory = group.universe.trajectory
    current = trajectory.frame
    try:
        if frame != current:
            trajectory[frame]
        positions: NDArray[np.float64] = np.asarray(group.positions, np.float64)
        return positions
    finally:
        if frame != current:
            trajectory[current]
