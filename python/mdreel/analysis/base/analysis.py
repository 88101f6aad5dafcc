"""Base class of all analyses."""

from collections.abc import Mapping, Sequence
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, Transformation
from mdreel.analysis.base.frame_columns import columns_of
from mdreel.analysis.base.observer import Observed, Observer, ResultsView
from mdreel.analysis.base.one_pass import run as run_together
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.periodic.jumps import Jump
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.blocks import Frames
from mdreel.execution.choices import Access
from mdreel.execution.damage import DamagedFrame
from mdreel.execution.executors.executor import Executor
from mdreel.execution.job import Outcome
from mdreel.execution.source_name import name_of
from mdreel.execution.tally import Tally
from mdreel.results.column import Column
from mdreel.results.results import Results
from mdreel.timing.timing import Timing
from mdreel.trajectory.opener import Opener, Trajectory
from mdreel.trajectory.read import read
from mdreel.trajectory.selection import Selection
from mdreel.trajectory.universe import source_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup
    from MDAnalysis.coordinates.base import ProtoReader


class Analysis:
    """An analysis of some atoms over the frames of a trajectory.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe.

    Attributes
    ----------
    results : Results
        What was found, after `run`.
    damage : tuple of DamagedFrame
        What was left out of it, after a `run` that was asked to go on where a frame is damaged.
    """

    _units: ClassVar[Mapping[str, str]] = {}
    """Units of results that have a value, or several, for each frame."""

    def __init__(self, atomgroup: "AtomGroup", trajectory: Trajectory | None = None) -> None:
        self._selection = Selection.of(atomgroup)
        self._atomgroup = atomgroup
        self._trajectory = trajectory
        self._outcome: Outcome | None = None
        self.results = Results()

    @property
    def frames(self) -> NDArray[np.int64]:
        """Frames analysed, shape (n_frames,), int64, from 0."""
        return self._done().frames.astype(np.int64)

    @property
    def times(self) -> NDArray[np.float64]:
        """Their times, shape (n_frames,), float64, ps."""
        return self._done().times

    @property
    def n_frames(self) -> int:
        """Number of frames analysed."""
        return len(self._done().frames)

    @property
    def timing(self) -> Timing:
        """Where the time of the last run went."""
        outcome = self._done()
        return Timing(outcome.spans, outcome.crew, outcome.tasks)

    @property
    def damage(self) -> tuple[DamagedFrame, ...]:
        """What the last run left out, if it was asked to go on where a frame is damaged."""
        return self._done().damage

    def run(
        self,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        frames: Frames | None = None,
        *,
        source: Trajectory | None = None,
        backend: str | Executor = "threads",
        n_workers: int | None = None,
        access: Access | None = None,
        n_parts: int | None = None,
        progress: bool = False,
        memory: str | int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        on_error: str = "raise",
        transformations: Sequence[Transformation] = (),
    ) -> Self:
        """Compute it for frames.

        Parameters
        ----------
        start, stop, step : int, optional
            Which frames, as of a Python slice.
        frames : array_like, shape (n_wanted,), int, or shape (n_frames,), bool, optional
            Frame numbers, or which frames are wanted; instead of a slice.
        source : path, sequence of paths, Source or Channel, optional
            What is read from now on instead of the trajectory that the analysis had.
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
        transformations : sequence of Transformation
            What is done with each frame as it is read, one after the other: `unwrap`, `wrap`, `center_in_box`,
            `nojump`. A reference that is a frame of the trajectory is transformed as well.

        Returns
        -------
        Analysis
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

        Warns
        -----
        BrokenMoleculeWarning, JumpWarning
            If the periodic cell cuts a molecule, or an atom jumps across it, and results are wrong for that.

        Notes
        -----
        The result has the same bits whichever the executor, with however many workers and blocks.
        """
        run_together(
            [self],
            start,
            stop,
            step,
            frames,
            source=source,
            backend=backend,
            n_workers=n_workers,
            access=access,
            n_parts=n_parts,
            progress=progress,
            memory=memory,
            checkpoint=checkpoint,
            on_error=on_error,
            transformations=transformations,
        )
        return self

    def columns(self) -> Sequence[Column]:
        """Return the results as a table: frame, time, and what has a value, or several, for each frame.

        Returns
        -------
        sequence of Column
            Those that `mdreel watch` shows of an analysis on a channel; a subclass may have others. A table that begins
            with another column than frame and time is taken for a curve over it.
        """
        return columns_of(self.frames, self.times, self.results, self._units)

    def computation(self, source: Source) -> Computation:
        """Return what is to be done with each frame of the trajectory; it is given the atoms of the selection."""
        raise NotImplementedError(f"{type(self).__name__} does not say what to do with a frame")

    def conclude(self, tally: Tally) -> None:
        """Fill in the results from what was done."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its results are")

    @property
    def leaves_file(self) -> bool:
        """Whether a run leaves a file besides the results."""
        return False

    def check_file(self) -> None:
        """Check that it can be written; called in one process of a run, before anything is read."""

    def leave_file(self) -> None:
        """Write that file; called in one process of a run, when there are results."""

    @property
    def atomgroup(self) -> "AtomGroup":
        """The atoms as they were given."""
        return self._atomgroup

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """The atoms that its computation is given: indices, ascending."""
        return self._selection.atoms

    @property
    def boundaries(self) -> Boundaries:
        """What it requires of molecules that the boundary of the cell may cut; each analysis declares that."""
        return Boundaries("the analysis does not declare what it requires")

    @property
    def molecules(self) -> NDArray[np.uint32]:
        """The atoms whose molecules must be whole, if the analysis requires that: indices, ascending."""
        return self.atoms

    @property
    def keeps_positions(self) -> bool:
        """Whether a run keeps the positions of all frames, in which `jump_in` looks for jumps."""
        return False

    def jump_in(self, tally: Tally) -> Jump | None:
        """Return an atom that jumps across the cell in the positions that a run has kept, if there is one."""
        return None

    @property
    def trajectory(self) -> "Trajectory | ProtoReader":
        """What is read: the trajectory that was given, or that of the Universe."""
        return self._atomgroup.universe.trajectory if self._trajectory is None else self._trajectory

    def read_from(self, trajectory: Trajectory) -> None:
        """Have this trajectory read from now on."""
        self._trajectory = trajectory

    def observer(self, source: Source, views: Sequence[ResultsView]) -> Observer | None:
        """Return the observer that the trajectory provides for a run over it, if there is one."""
        return self._trajectory.observer(source, views) if isinstance(self._trajectory, Observed) else None

    def plot(self, ax: "Axes | None" = None, title: str | None = None) -> "Figure":
        """Draw what was found.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; by default a new figure is made.
        title : str, optional
            A line above the picture; by default what was analysed.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        self._done()
        return self.draw(self._describe() if title is None else title, ax)

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw what was found under a title; see `plot`."""
        raise UnsupportedError(f"{type(self).__name__} has no picture")

    def take(self, outcome: Outcome, tally: Tally) -> None:
        """Take what a run gave."""
        self._outcome = outcome
        self.conclude(tally)

    def open(self) -> Source:
        """Open the trajectory, which must have the atoms of the Universe."""
        universe = self._atomgroup.universe
        if self._trajectory is None:
            source = source_of(universe)
        elif isinstance(self._trajectory, Source):
            source = self._trajectory
        elif isinstance(self._trajectory, Opener):
            source = self._trajectory.source()
        else:
            source = read(self._trajectory)
        if source.n_atoms != len(universe.atoms):
            message = f"the trajectory has {source.n_atoms} atoms, the topology has {len(universe.atoms)}"
            raise MismatchError(f"{name_of(source)}: {message}")
        return source

    def _done(self) -> Outcome:
        if self._outcome is None:
            raise AttributeError("there are no results yet: call run() first")
        return self._outcome

    def _describe(self) -> str:
        atoms = f"{self._selection.n_given:,} atoms"
        return f"{atoms}, {self.n_frames:,} frames" if self._outcome is not None else f"{atoms}, not run"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._describe()}>"

    def _repr_html_(self) -> str:
        """Show facts and timing in a notebook."""
        head = f"<b>{type(self).__name__}</b> of {self._describe()}"
        if self._outcome is None:
            return head
        rows = "".join(
            f'<tr><td style="text-align:left">{escape(name)}</td><td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self._facts()
        )
        timing = escape(self.timing.summary())
        return f'{head}<table>{rows}</table><pre style="font-size:0.85em;opacity:0.75">{timing}</pre>'

    def _facts(self) -> list[tuple[str, str]]:
        """Return what a reader wants to see first: names and texts."""
        times = self.times
        facts = [("time", f"{times[0]:,.6g} to {times[-1]:,.6g} ps")]
        return [*facts, ("damaged, left out", f"{len(self.damage):,}")] if self.damage else facts
