"""What all analyses have in common: a trajectory, results, and what they cost."""

from collections.abc import Sequence
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Source
from mdreel.analysis.selection import Selection
from mdreel.damage import DamagedFrame
from mdreel.errors import MismatchError
from mdreel.executors.job import Outcome
from mdreel.results.results import Results
from mdreel.sources.name import name_of
from mdreel.sources.open import open_source
from mdreel.sources.universe import source_of
from mdreel.spans import Timing

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

Trajectory: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]] | Source
"""A file, several files, or a source."""


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

    def _open(self) -> Source:
        """Open the trajectory; it must have the atoms of the Universe."""
        universe = self._atomgroup.universe
        if self._trajectory is None:
            source = source_of(universe)
        elif isinstance(self._trajectory, Source):
            source = self._trajectory
        else:
            source = open_source(self._trajectory)
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
