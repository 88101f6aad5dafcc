"""Warnings about broken molecules and jumping atoms that make the results of a run wrong."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Pass, Source
from mdreel.analysis.periodic.boundaries import HasBoundaries
from mdreel.analysis.periodic.broken_molecules import BrokenMolecule, find_broken
from mdreel.analysis.periodic.broken_reference import broken_reference
from mdreel.analysis.periodic.jumps import find_jump_between
from mdreel.analysis.periodic.periodic_cell import PeriodicCell
from mdreel.analysis.transformations import unwrap
from mdreel.errors import BrokenMoleculeWarning, FrameIndexError, JumpWarning, MdreelError, MdreelWarning, StreamError
from mdreel.execution.tally import Tally
from mdreel.foundation.stack_level import caller_level
from mdreel.trajectory.atom_union import union_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

    from mdreel.execution.job import Outcome


@dataclass(frozen=True)
class Finding:
    """A problem that makes the results of some analyses wrong.

    Attributes
    ----------
    category : type
        The class of the warning.
    names : tuple of str
        Names of the affected analyses.
    what : str
        Description of the problem, with the frame.
    remedy : str
        Instructions for the user.
    """

    category: type[MdreelWarning]
    names: tuple[str, ...]
    what: str
    remedy: str

    def warn(self) -> None:
        """Issue the warning at the line of the caller."""
        text = f"{', '.join(self.names)}: {self.what}. {self.remedy}"
        warnings.warn(text, self.category, stacklevel=caller_level())


class BoundaryCheck:
    """A check of a run, for which a few of its frames are read again.

    Parameters
    ----------
    analyses : sequence of HasBoundaries
        The analyses of the run.
    source : Source
        The trajectory, as the run reads it.

    Attributes
    ----------
    findings : list of Finding
        The problems found so far.

    Notes
    -----
    To check for broken molecules, the first frame is read, and one more frame for every 200 frames, up to a total of
    five. To check for jumps, one frame is read for every 100 frames. Frames of a growing trajectory cannot be read
    again, so only its first frame is checked, before the run.
    """

    def __init__(self, analyses: Sequence[HasBoundaries], source: Source) -> None:
        self._source = source
        self._whole = [one for one in analyses if one.boundaries.whole]
        self._paths = [one for one in analyses if one.boundaries.paths]
        self._analyses = analyses
        self.findings: list[Finding] = []

    def before(self, start: int | None) -> None:
        """Check references, and wait for and check the first frame of a growing trajectory."""
        for analysis in self._whole:
            for group, frame in analysis.references:
                molecule = broken_reference(group, frame)
                if molecule is not None:
                    self.findings.append(_finding_of([analysis], molecule, group.universe, "the reference"))
        if self._source.is_growing and self._whole:
            self._look_for_broken([start or 0])

    def after(self, outcome: "Outcome", kernel: Pass) -> None:
        """Check some frames of a finished run, and the positions that the analyses kept."""
        if not len(outcome.rows):
            return
        frames = outcome.frames
        if not self._source.is_growing:
            follows = any(one.needs_order for one in self._source.transformations)
            # Transformations that need all earlier frames do not work on a single frame.
            n_looked_at = 1 if follows else 1 + min(4, len(frames) // 200)
            self._look_for_broken(_spread(frames, n_looked_at))
            if not follows:
                self._look_for_jumps(frames)
        for analysis, tally in zip(self._analyses, Tally.of_each(outcome, kernel), strict=True):
            jump = analysis.find_kept_jump(tally) if analysis.boundaries.paths else None
            if jump is not None:
                atom = _atom(analysis.atomgroup.universe, int(analysis.atoms_read[jump.place]))
                edges = int(frames[jump.before]), int(frames[jump.after])
                self._add_jump([analysis], atom, edges, jump.distance, jump.height)

    def warn(self) -> None:
        """Issue a warning for each problem, and clear the list of problems."""
        findings, self.findings = self.findings, []
        for finding in findings:
            finding.warn()

    def _look_for_broken(self, frames: Sequence[int]) -> None:
        waiting = [(one, one.molecules) for one in self._whole]
        for frame in frames:
            if not waiting:
                return
            atoms = union_of([own for _, own in waiting])
            positions, cell = self._read(frame, atoms)
            if positions is None or cell is None:
                continue
            found = []
            for one, own in waiting:
                places = slice(None) if own is atoms else np.searchsorted(atoms, own)
                found.append((one, own, self._broken(one, own, frame, positions[places], cell)))
            broken = [(one, molecule) for one, _, molecule in found if molecule is not None]
            for has_bonds in (True, False):
                alike = [(one, molecule) for one, molecule in broken if molecule.has_bonds is has_bonds]
                if alike:
                    universe = alike[0][0].atomgroup.universe
                    self.findings.append(
                        _finding_of([one for one, _ in alike], alike[0][1], universe, f"frame {frame}")
                    )
            waiting = [(one, own) for one, own, molecule in found if molecule is None]

    def _broken(
        self,
        analysis: HasBoundaries,
        own: NDArray[np.uint32],
        frame: int,
        positions: NDArray[np.float32],
        cell: PeriodicCell,
    ) -> BrokenMolecule | None:
        def unwrapped(group: "AtomGroup") -> NDArray[np.float32]:
            whole = self._source.with_transformations([unwrap(group)])
            positions: NDArray[np.float32] = whole.read(FrameSet.range(frame, 1, 1), own).positions[0]
            return positions

        try:
            return find_broken(analysis.atomgroup.universe, own, positions, cell, unwrapped)
        except OSError:  # the run is finished, so a file that has vanished does not matter
            return None

    def _look_for_jumps(self, frames: NDArray[np.uint64]) -> None:
        for analysis in self._paths:
            if analysis.keeps_positions or len(frames) < 2:
                continue
            ends = _spread(np.arange(len(frames)), 2 + min(3, len(frames) // 100))
            stretches = [frames[first : last + 1] for first, last in pairwise(ends)]
            # Diffusing particles jump between consecutive frames; a molecule may jump only over a long time.
            any(self._found_jump(analysis, some) for one in stretches for some in (one[:2], one))

    def _found_jump(self, analysis: HasBoundaries, frames: NDArray[np.uint64]) -> bool:
        def read(frame: int) -> tuple[NDArray[np.float32], PeriodicCell | None]:
            positions, cell = self._read(frame, analysis.atoms_read)
            if positions is None:
                raise FrameIndexError(f"frame {frame} no longer exists")
            return positions, cell

        try:
            jump = find_jump_between(frames, read)
        except FrameIndexError:
            return False
        if jump is None:
            return False
        atom = _atom(analysis.atomgroup.universe, int(analysis.atoms_read[jump.place]))
        self._add_jump([analysis], atom, (jump.before, jump.after), jump.distance, jump.height)
        return True

    def _add_jump(
        self, analyses: Sequence[HasBoundaries], atom: str, frames: tuple[int, int], distance: float, height: float
    ) -> None:
        """Add a jump, or add the names of analyses to a known jump with the same remedy."""
        remedy = f"Undo the jumps: {analyses[0].boundaries.remedy}"
        names = _names(analyses)
        for i, known in enumerate(self.findings):
            if known.category is JumpWarning and known.remedy == remedy:
                both = tuple(dict.fromkeys((*known.names, *names)))
                self.findings[i] = Finding(JumpWarning, both, known.what, remedy)
                return
        what = (
            f"{atom} moves {distance:.1f} Å from frame {frames[0]} to frame {frames[1]}, more than half of the cell "
            f"({height:.1f} Å): it was wrapped to the other side of the periodic cell, and displacements are wrong"
        )
        self.findings.append(Finding(JumpWarning, names, what, remedy))

    def _read(self, frame: int, atoms: NDArray[np.uint32]) -> tuple[NDArray[np.float32] | None, PeriodicCell | None]:
        """Return the positions and the cell of a frame, with None for data that is missing or cannot be read."""
        try:
            read = self._source.read(FrameSet.range(frame, 1, 1), atoms)
        except StreamError:
            raise  # the run itself would time out as well
        except (MdreelError, OSError):
            return None, None  # the run reports the error or skips the frame
        if not len(read.positions) or not read.has_positions[0]:
            return None, None
        return read.positions[0], PeriodicCell.of(read.vectors[0]) if read.has_cell[0] else None


def _finding_of(
    analyses: Sequence[HasBoundaries], molecule: BrokenMolecule, universe: "Universe", where: str
) -> Finding:
    """Return the finding for a broken molecule in a frame or in the reference, as given by `where`."""
    one, other = (_atom(universe, index) for index in molecule.atoms)
    what = (
        f"the periodic cell cuts a molecule: in {where}, {one} and {other} are {molecule.distance:.1f} Å apart, "
        f"more than half of the cell ({molecule.height:.1f} Å), and distances within the molecule are wrong"
    )
    remedy = (
        "run(transformations=[mdreel.transformations.unwrap(atoms)]) in Python, --transform whole on the command line"
    )
    if where == "the reference":
        remedy = "Make the molecules of the reference whole, with universe.atoms.unwrap() or mdreel convert"
    elif molecule.has_bonds:
        remedy = f"Make molecules whole: {remedy}"
    else:
        remedy = (
            "The topology has no bonds between these atoms: use a topology with bonds (TPR, PSF, PRMTOP), or guess "
            f"them (universe.atoms.guess_bonds()), then make molecules whole: {remedy}"
        )
    return Finding(BrokenMoleculeWarning, _names(analyses), what, remedy)


def _names(analyses: Sequence[HasBoundaries]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(type(one).__name__ for one in analyses))


def _atom(universe: "Universe", index: int) -> str:
    """Return a description of an atom, such as ``atom 12 (GLY 3 CA)``."""
    atom = universe.atoms[index]
    facts = [str(getattr(atom, name)) for name in ("resname", "resid", "name") if hasattr(atom, name)]
    return f"atom {index}" + (f" ({' '.join(facts)})" if facts else "")


def _spread(values: NDArray[np.integer], n: int) -> list[int]:
    """Return `n` evenly spaced values including the first and, if `n` is above 1, the last."""
    places = np.linspace(0, len(values) - 1, min(n, len(values))).round().astype(np.intp)
    return [int(value) for value in np.unique(values[np.unique(places)])] if n > 1 else [int(values[0])]
