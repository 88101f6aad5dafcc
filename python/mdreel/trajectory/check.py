"""Check of every frame of a file."""

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
from mdreel.timing.spans import spans_from_columns
from mdreel.timing.timing import Timing
from mdreel.trajectory.read import read
from mdreel.trajectory.remote import RemoteFile

_NOTES = ("interval",)


@dataclass(frozen=True)
class Defect:
    """Something that is wrong with a file, or worth a note.

    Attributes
    ----------
    kind : str
        ``file`` (it cannot be opened), ``damaged frame``, ``torn end``, ``trailing bytes``, ``frame count``, ``atoms``,
        ``not finite``, ``cell``, ``no cell``, ``time``, ``interval``.
    frame : int or None
        The frame, if it is about one.
    byte : int or None
        Where the damage is, or where the frame begins, if that is known.
    message : str
        What was expected and what was found.
    """

    kind: str
    frame: int | None
    byte: int | None
    message: str


@dataclass(frozen=True)
class Report:
    """What a check found.

    Attributes
    ----------
    path : str
        The file.
    format : str or None
        Its format; None where it could not be opened.
    n_atoms : int
        Atoms in each frame.
    n_frames : int
        Frames that could be read.
    n_bytes : int
        Size of the frames in the file.
    defects : tuple of Defect
        All that is wrong, in the order of frames.
    notes : tuple of Defect
        What is unusual: intervals of time that differ from the others.
    timing : Timing or None
        Where the time went; None where the file could not be opened.
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
        """Whether nothing is wrong."""
        return not self.defects


def check(
    path: str | PathLike[str] | RemoteFile,
    *,
    n_atoms: int | None = None,
    n_workers: int | None = None,
    progress: bool = False,
) -> Report:
    """Read all of a trajectory, and report all that is wrong with it.

    Parameters
    ----------
    path : path, URL or RemoteFile
        The file.
    n_atoms : int, optional
        The number of atoms that it should have, as of a topology.
    n_workers : int, optional
        Threads that read; by default one for each processor.
    progress : bool
        Whether progress is shown, on a terminal or in a notebook.

    Returns
    -------
    Report
        What was found. A file that is not what its format says is a report, not an error.

    Raises
    ------
    OSError
        If the file cannot be opened or read: storage that fails is not a defect of the file.
    UnsupportedError
        If the file is valid, but not supported.

    Notes
    -----
    Every atom of every frame is decoded: positions, velocities and forces. What formats say twice is compared: headers,
    record markers, lengths, checksums; of XTC frames also the number of compressed bytes, the extremes of each axis,
    and the bytes that the coordinates have when they are packed again. Damage that changes none of these passes:
    ``docs/damage.md`` lists it for each format. Costs as much as reading all atoms, of XTC also as much as writing
    them; memory grows by 16 bytes a frame.
    """
    name = path.url if isinstance(path, RemoteFile) else fspath(path)
    try:
        source = read(path).with_on_error("skip")
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
    """Compare what the file says of itself with what it is."""
    if n_atoms not in (None, source.n_atoms):
        yield Defect("atoms", None, None, f"expected {n_atoms} atoms as in the topology, got {source.n_atoms}")
    facts: dict[str, Any] = source.describe()[0]
    counted = facts.get("frames counted by the header", n_frames)
    if counted != n_frames:
        yield Defect("frame count", None, None, f"the header counts {counted} frames, the file has {n_frames}")
    uncounted = facts.get("uncounted bytes", 0)
    if uncounted and counted == n_frames:
        byte = facts["size"] - uncounted
        message = f"{uncounted} bytes stand behind the last frame that the header counts"
        yield Defect("trailing bytes", None, byte, message)
