"""Check of all frames in a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from mdreel._core import FrameSet, Source, plan
from mdreel._core import check as check_core
from mdreel.errors import FormatError
from mdreel.execution.damage import DamagedFrame, damaged_frames
from mdreel.execution.executors.local.threads import Threads
from mdreel.execution.progress import Progress
from mdreel.foundation.arguments import checked_arguments
from mdreel.timing.spans import spans_from_columns
from mdreel.timing.timing import Timing
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.remote import RemoteFile

_NOTES = ("interval",)


@dataclass(frozen=True)
class Defect:
    """A defect in a file, or a note about the file.

    Attributes
    ----------
    kind : str
        ``file`` (the file cannot be opened), ``damaged frame``, ``torn end``, ``trailing bytes``, ``frame count``,
        ``atoms``, ``not finite``, ``cell``, ``no cell``, ``time``, ``interval``.
    frame : int or None
        The affected frame, if the defect concerns a single frame.
    byte : int or None
        Position of the damage, or of the frame, if it is known.
    message : str
        Expected and found values.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> defect = mdreel.trajectory.check(DCD).defects[0]
    >>> defect.kind, defect.message
    ('frame count', 'the header counts 500 frames, the file has 98')
    """

    kind: str
    frame: int | None
    byte: int | None
    message: str


@dataclass(frozen=True)
class Report:
    """Result of checking a trajectory file.

    Attributes
    ----------
    path : str
        The file.
    format : str or None
        Format of the file, or None if the file could not be opened.
    n_atoms : int
        Number of atoms.
    n_frames : int
        Number of readable frames.
    n_bytes : int
        Total size of the frames in the file in bytes.
    defects : tuple of Defect
        All defects, in the order of the frames.
    notes : tuple of Defect
        Unusual properties that are not defects, such as time intervals that differ from the others.
    timing : Timing or None
        Timing of the check, or None if the file could not be opened.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> report = mdreel.trajectory.check(DCD)
    >>> report.n_frames, report.is_sound
    (98, False)
    """

    path: str
    format: str | None
    n_atoms: int
    n_frames: int
    n_bytes: int
    defects: tuple[Defect, ...]
    notes: tuple[Defect, ...] = ()
    timing: Timing | None = None

    @property
    def is_sound(self) -> bool:
        """Whether the file has no defects."""
        return not self.defects


@checked_arguments
def check(
    path: str | PathLike[str] | RemoteFile,
    *,
    n_atoms: int | None = None,
    n_workers: int | None = None,
    progress: bool = False,
) -> Report:
    """Decode an entire trajectory and report all defects.

    Parameters
    ----------
    path : path, URL or RemoteFile
        The file.
    n_atoms : int, optional
        Expected number of atoms, for example the number of atoms in the topology.
    n_workers : int, optional
        Number of threads. By default, there is one per processor.
    progress : bool
        Whether to show progress, on a terminal or in a notebook.

    Returns
    -------
    Report
        Result of the check. Damage to the file is reported here and does not raise an error.

    Raises
    ------
    OSError
        When the file cannot be opened or read, because a storage failure is not a defect of the file.
    UnsupportedError
        When the file is valid but not supported.

    Notes
    -----
    All positions, velocities and forces in the file are decoded. All redundant information in the file (headers, record
    markers, lengths and checksums) is also compared. For XTC, this includes the number of compressed bytes and the
    extremes along x, y and z. XTC coordinates are even compressed again to compare the bytes. However, some damage
    cannot be detected by any check (for a list, see ``docs/how-to/damage.md``). A check takes about as long as reading
    all atoms (for XTC, as long as reading and writing them). It needs 16 bytes of memory per frame.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, XTC
    >>> mdreel.trajectory.check(XTC).is_sound
    True
    >>> for defect in mdreel.trajectory.check(DCD).defects:
    ...     print(defect.kind, "-", defect.message)
    frame count - the header counts 500 frames, the file has 98
    """
    name = path.url if isinstance(path, RemoteFile) else fspath(path)
    try:
        source = open_trajectory(path).with_on_error("skip")
    except FormatError as error:
        return Report(name, None, 0, 0, 0, (Defect("file", None, None, str(error)),))
    n_frames = source.n_frames
    n_threads = Threads(n_workers).n_workers
    blocks = plan(source, FrameSet.range(0, 1, n_frames), None, n_threads)
    with Progress("checking", n_frames, enabled=progress) as bar:
        found, records, n_whole, columns = check_core(source, blocks, n_threads, bar.update if progress else None)
    findings = [Defect(*finding) for finding in found]
    damage = [_of_damage(one) for one in damaged_frames(records)]
    of_frames = sorted(
        [*damage, *(one for one in findings if one.kind not in _NOTES)],
        key=lambda one: n_frames if one.frame is None else one.frame,
    )
    return Report(
        path=name,
        format=source.format,
        n_atoms=source.n_atoms,
        n_frames=n_whole,
        n_bytes=source.n_bytes,
        defects=(*_of_whole(source, n_frames, n_atoms), *of_frames),
        notes=tuple(one for one in findings if one.kind in _NOTES),
        timing=Timing(spans_from_columns(columns)),
    )


def _of_damage(damage: DamagedFrame) -> Defect:
    kind = "torn end" if damage.frame is None else "damaged frame"
    return Defect(kind, damage.frame, damage.byte, damage.message)


def _of_whole(source: Source, n_frames: int, n_atoms: int | None) -> Iterator[Defect]:
    """Compare the file header with the content of the file."""
    if n_atoms not in (None, source.n_atoms):
        yield Defect("atoms", None, None, f"expected {n_atoms} atoms as in the topology, got {source.n_atoms}")
    facts: dict[str, Any] = source.describe()[0]
    counted = facts.get("frames counted by the header", n_frames)
    if counted != n_frames:
        yield Defect("frame count", None, None, f"the header counts {counted} frames, the file has {n_frames}")
    uncounted = facts.get("uncounted bytes", 0)
    if uncounted and counted == n_frames:
        byte = facts["size"] - uncounted
        message = f"{uncounted} bytes follow the last frame that the header counts"
        yield Defect("trailing bytes", None, byte, message)
