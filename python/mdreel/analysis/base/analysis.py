"""Base class for all analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, Transformation
from mdreel.analysis.base.mdanalysis_interface import MDAnalysisInterface
from mdreel.analysis.base.observer import Observed, Observer, ResultsView
from mdreel.analysis.base.one_pass import run as run_together
from mdreel.analysis.base.report_output import ReportOutput
from mdreel.analysis.base.run_description import atoms_text
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.periodic.jumps import Jump
from mdreel.analysis.periodic.missing_cell import SET_CELL
from mdreel.execution.blocks import Frames
from mdreel.execution.choices import Access
from mdreel.execution.damage import DamagedFrame
from mdreel.execution.executors.executor import Executor
from mdreel.execution.job import Outcome
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.results.results import Results
from mdreel.timing.timing import Timing
from mdreel.trajectory.atom_counts import topology_mismatch
from mdreel.trajectory.input_files import input_facts
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.opener import Opener, Trajectory
from mdreel.trajectory.selection import Atoms, Selection, atoms_of
from mdreel.trajectory.universe import source_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe
    from MDAnalysis.coordinates.base import ProtoReader


class Analysis(ReportOutput, MDAnalysisInterface):
    """Base class for all analyses, with their common methods and attributes.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup or Universe
        The atoms. If you pass a Universe, all of its atoms are used.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results : Results
        Results of the last `run`.
    damage : tuple of DamagedFrame
        Damaged frames that the last `run` skipped.
    """

    _may_change: ClassVar[bool] = False
    """Whether the groups of the analysis may be UpdatingAtomGroups, which are updated in each frame."""

    _atoms_parameter: ClassVar[str] = "atomgroup"
    """Name of the parameter that receives the atoms, for error messages."""

    needs_frame_numbers: bool = False
    """Whether the analysis passes the numbers of frames to user code."""

    def __init__(self, atomgroup: Atoms, trajectory: Trajectory | None = None, *, verbose: bool = False) -> None:
        self._atomgroup = atoms_of(atomgroup, name=self._atoms_parameter, may_change=self._may_change)
        self._selection = Selection.of(self._atomgroup, self._atoms_parameter, may_change=self._may_change)
        self._given_trajectory = trajectory
        self._outcome: Outcome | None = None
        self.is_verbose = verbose
        self.results = Results()

    @property
    def frames(self) -> NDArray[np.int64]:
        """Numbers of the analysed frames, starting from 0, as an int64 array of shape (n_frames,)."""
        return self._done().frames.astype(np.int64)

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of the analysed frames in ps, as a float64 array of shape (n_frames,)."""
        return self._done().times

    @property
    def n_frames(self) -> int:
        """Number of analysed frames."""
        return len(self._done().frames)

    @property
    def timing(self) -> Timing:
        """Timing of the last run."""
        outcome = self._done()
        return Timing(outcome.spans, outcome.crew, outcome.tasks, outcome.n_missed, outcome.n_requested)

    @property
    def damage(self) -> tuple[DamagedFrame, ...]:
        """Damaged frames that the last run skipped. See `on_error` of `run`."""
        return self._done().damage

    @property
    def _damage_handling(self) -> str:
        """How the last run handled damaged frames. See `on_error` of `run`."""
        return self._done().on_error

    @property
    def _call(self) -> str:
        """Python code of the last run."""
        return self._done().call

    @property
    def _is_finished(self) -> bool:
        """Whether the analysis has been run."""
        return self._outcome is not None

    @checked_arguments
    def run(
        self,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        frames: Frames | None = None,
        verbose: bool | None = None,
        n_workers: int | None = None,
        n_parts: int | None = None,
        backend: str | Executor | None = None,
        *,
        unsupported_backend: bool = False,
        progressbar_kwargs: Mapping[str, Any] | None = None,
        source: Trajectory | None = None,
        access: Access | None = None,
        memory: str | int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        on_error: str = "raise",
        transformations: Sequence[Transformation] = (),
    ) -> Self:
        """Analyse the frames of the trajectory.

        Parameters
        ----------
        start, stop, step : int, optional
            Range of frames, as in a Python slice.
        frames : array_like, shape (n_wanted,), int, or shape (n_frames,), bool, optional
            Frame numbers or a boolean mask to use instead of a slice.
        verbose : bool, optional
            Whether to show a progress bar in a terminal or notebook. The default is the value passed when the analysis
            was created.
        n_workers : int, optional
            Number of workers. The default is one worker per processor.
        n_parts : int, optional
            Number of blocks. Each worker receives one block at a time. The default depends on the file and the number
            of workers. With ``access="segments"``, there is at least one block per file.
        backend : {"threads", "serial", "processes", "dask", "mpi", "multiprocessing"} or Executor, optional
            Executor that runs the blocks. The default is ``"threads"``. ``"multiprocessing"`` is MDAnalysis's name for
            ``"processes"``.
        unsupported_backend : bool
            Accepted for compatibility with MDAnalysis, but without effect, because every analysis runs on every
            executor.
        progressbar_kwargs : dict, optional
            Options for MDAnalysis's progress bar. ``desc`` sets the title, and ``disable`` hides the bar. All other
            options affect only the appearance of the bar and are ignored.
        source : path, sequence of paths, Source or Channel, optional
            New trajectory to analyse. It replaces the current trajectory in this run and all later runs.
        access : str, optional
            How the workers read the trajectory. With ``"shared"``, all workers read a single file. With ``"chain"``,
            they read several files as one, and a block may continue in the next file. With ``"segments"``, each block
            lies within one file, and ``schedule="static"`` assigns whole files to workers. The default is ``"shared"``
            or ``"chain"``. The other modes are for MPI. With ``"hdf5-independent"`` and ``"hdf5-collective"``, all
            ranks open a single H5MD file together, and the HDF5 library reads it independently for each rank, or
            collectively for all ranks. With ``"mpiio"``, each rank reads XTC, TRR and DCD files independently through
            MPI-IO. With ``"mpiio-collective"``, all ranks read them collectively. Both collective modes require
            ``schedule="static"``.
        memory : str or int, optional
            Total memory limit of all processes, in bytes or as a string such as ``"2G"``. If a run would need more, an
            error is raised.
        checkpoint : path, optional
            File in which the results of finished blocks are stored. If the run is interrupted, call `run` again with
            any backend to continue from this file. The file is kept after the run. An error is raised if it belongs to
            a different trajectory or analysis.
        on_error : {"raise", "stop", "skip"}
            How to handle a damaged frame: raise an error, end the trajectory before the frame, or skip the frame. If
            frames are skipped, a warning is issued, and `damage` lists them.
        transformations : sequence of Transformation
            Transformations to apply to each frame, in the given order: `unwrap`, `wrap`, `center_in_box`, `nojump`.
            They are also applied to a reference that is a frame of the trajectory.

        Returns
        -------
        Analysis
            This analysis, with its results.

        Raises
        ------
        FrameIndexError
            If a frame does not exist, or if there are no frames to analyse.
        FormatError, OSError
            If the trajectory cannot be read. Regardless of `on_error`, if none of the frames can be read, or if the
            reference cannot be read.
        MismatchError
            If the trajectory and the Universe have different numbers of atoms. If a coordinate is not finite. (Such a
            frame is not considered damaged and is never skipped.) If `access` is not compatible with the number of
            files or the schedule.
        UnsupportedError
            If mdreel cannot read the trajectory of the Universe, or cannot read it with this `access`.

        Warns
        -----
        BrokenMoleculeWarning, JumpWarning
            If the results are wrong because a molecule is broken across the periodic boundary, or because an atom jumps
            across the boundary.

        Notes
        -----
        The results are bitwise identical for every executor and any number of workers and blocks.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> rmsd = mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA")
        >>> rmsd.run(start=10, step=2, n_workers=2).results.rmsd.shape
        (44, 3)
        >>> rmsd.frames[:3]
        array([10, 12, 14])
        """
        run_together(
            [self],
            start,
            stop,
            step,
            frames,
            verbose,
            n_workers,
            n_parts,
            backend,
            progressbar_kwargs=progressbar_kwargs,
            source=source,
            access=access,
            memory=memory,
            checkpoint=checkpoint,
            on_error=on_error,
            transformations=transformations,
        )
        return self

    def start_at(self, first: int) -> None:
        """Receive the number of the first analysed frame. This method is called before `computation`."""

    def computation(self, source: Source) -> Computation:
        """Return the computation for each frame, which receives the atoms of the selection."""
        raise NotImplementedError(f"{type(self).__name__} does not implement computation()")

    def conclude(self, tally: Tally) -> None:
        """Fill in the results from the merged output of all blocks."""
        raise NotImplementedError(f"{type(self).__name__} does not implement conclude()")

    def result_bytes(self, n_frames: int, n_columns: int) -> int:
        """Return the minimum memory in bytes for the results of a run, given the numbers of frames and of values."""
        return 8 * n_frames * (2 + n_columns)  # with the number and the time of each frame

    @property
    def smaller_results(self) -> str:
        """Advice on how to obtain smaller results, for messages about results that do not fit into memory."""
        return "select fewer atoms, or fewer frames, such as step=10"

    @property
    def without_cell(self) -> str:
        """Advice on how to handle frames without a periodic cell, if the analysis needs a cell."""
        return SET_CELL

    @property
    def writes_file(self) -> bool:
        """Whether a run writes an output file in addition to the results."""
        return False

    def check_output_file(self) -> None:
        """Check that the output file can be written. One process calls this method before the run reads any frames."""

    def write_output(self) -> None:
        """Write the output file. One process calls this method after the results are complete."""

    @property
    def atomgroup(self) -> AtomGroup:
        """The atoms in the order in which the user gave them."""
        return self._atomgroup

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """Indices of the atoms that the computation receives, in ascending order."""
        return self._selection.atoms

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary. Each analysis declares them."""
        return Boundaries("the analysis declares no requirements")

    @property
    def molecules(self) -> NDArray[np.uint32]:
        """Indices of the atoms whose molecules must be whole if the analysis requires it, in ascending order."""
        # A group that changes also reads atoms that its selection needs.
        return self.atoms if self._selection.changing is None else self._selection.atoms[self._selection.places]

    @property
    def references(self) -> Sequence[tuple[AtomGroup, int | None]]:
        """Reference groups from other Universes, each with its frame, or None for the current positions."""
        return ()

    @property
    def keeps_positions(self) -> bool:
        """Whether a run keeps the positions of all frames. If so, `find_kept_jump` searches them for jumps."""
        return False

    def find_kept_jump(self, tally: Tally) -> Jump | None:
        """Return an atom that jumps across the cell in the kept positions of a run, if there is one."""
        return None

    @property
    def trajectory(self) -> Trajectory | ProtoReader:
        """The given trajectory, or the trajectory of the Universe."""
        return self.universe_read.trajectory if self._given_trajectory is None else self._given_trajectory

    @property
    def universe_read(self) -> Universe:
        """The Universe whose trajectory is read unless another one is given."""
        return self._atomgroup.universe

    # A run calls these two, because a subclass of `AnalysisBase` may use the names `atoms` and `trajectory` itself.
    @property
    def atoms_read(self) -> NDArray[np.uint32]:
        """Indices of the atoms that the computation receives. The same as `atoms`."""
        return self.atoms

    @property
    def trajectory_read(self) -> Trajectory | ProtoReader:
        """The given trajectory, or the trajectory of the Universe. The same as `trajectory`."""
        return self.trajectory

    @property
    def order_reason(self) -> str | None:
        """Reason why the analysis needs all frames in order in one block, or None if it does not."""
        return None

    def set_trajectory(self, trajectory: Trajectory) -> None:
        """Set the trajectory for the following runs."""
        self._given_trajectory = trajectory

    def observer(self, source: Source, views: Sequence[ResultsView]) -> Observer | None:
        """Return the observer that the trajectory provides for a run, if there is one."""
        return self._given_trajectory.observer(source, views) if isinstance(self._given_trajectory, Observed) else None

    def accept(self, outcome: Outcome, tally: Tally) -> None:
        """Store the outcome of a run and fill in the results."""
        self._outcome = outcome
        self.conclude(tally)

    def open(self) -> Source:
        """Open the trajectory and check that it has the same number of atoms as the Universe."""
        universe = self.universe_read
        if self._given_trajectory is None:
            source = source_of(universe)
        elif isinstance(self._given_trajectory, Source):
            source = self._given_trajectory
        elif isinstance(self._given_trajectory, Opener):
            source = self._given_trajectory.source()
        else:
            source = open_trajectory(self._given_trajectory)
        if source.n_atoms != len(universe.atoms):
            raise topology_mismatch(source, len(universe.atoms))
        return source

    def _done(self) -> Outcome:
        self._check_results()
        assert self._outcome is not None
        return self._outcome

    def _atoms_text(self) -> str:
        return atoms_text(self._atomgroup)

    def _input_facts(self) -> dict[str, Any]:
        return {**input_facts(self.universe_read, self.trajectory_read), "n_atoms": self._n_described}

    @property
    def _n_described(self) -> int:
        """Number of atoms to show for the group. For a changing group, count all atoms that can belong to it."""
        return self._selection.n_given

    def _describe(self) -> str:
        atoms = f"{self._n_described:,} atoms"
        if self._selection.changing is not None:
            atoms = f"up to {atoms} that change"
        return f"{atoms}, {self.n_frames:,} frames" if self._outcome is not None else f"{atoms}, not run"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._describe()}>"
