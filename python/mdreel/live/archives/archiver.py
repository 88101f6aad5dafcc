"""Archiver that joins a consumer group, writes its frames to a file, and commits the length of the file."""

import errno
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple

from mdreel.errors import MdreelWarning, MismatchError, StreamError, StreamTimeoutError
from mdreel.foundation.atomic_files import output_exists
from mdreel.live.archives.commit_record import CommitRecord
from mdreel.live.archives.core_formats import EncodedFrames
from mdreel.live.archives.frames import ArchivedFrame
from mdreel.live.archives.h5md import H5mdFrames
from mdreel.live.archives.part_file import PartFile
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.epochs import first_sequence_of_run
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.status import Status
from mdreel.trajectory.output_file import H5MD, find_format

COMMIT_SECONDS = 1.0
"""Maximum time between two commits."""

COMMIT_BYTES = 64 << 20
"""Maximum amount of data between two commits."""

_PER_ATOM = ("positions", "velocities", "forces")


@dataclass(frozen=True)
class ArchiverOptions:
    """Options of an archive; see `mdreel.live.archives.archive`.

    Attributes
    ----------
    precision : float or None
        Precision of XTC files, in integers per nm.
    timeout : float or None
        Maximum time to wait for a frame, in s.
    skips_missed : bool
        Whether to continue if frames were missed.
    finishes : bool
        Whether to finish the file if the simulation has failed or was lost.
    force : bool
        Whether to replace existing files.
    """

    precision: float | None = None
    timeout: float | None = None
    skips_missed: bool = False
    finishes: bool = False
    force: bool = False


class Archiver:
    """Writes the frames that a consumer receives to a file.

    Parameters
    ----------
    part : PartFile
        The incomplete file.
    consumer : Consumer
        Consumer that has joined as a member of a group.
    options : ArchiverOptions
        Options of the archive.

    Attributes
    ----------
    is_done : bool
        Whether the file is complete and no frame has been published since.
    n_frames : int
        Number of frames in the file.
    n_missed : int
        Number of frames that are missing from the file.

    Raises
    ------
    FileExistsError
        If the file exists and `force` is false.
    MismatchError
        If the group belongs to a different incomplete file.
    FormatError
        If the incomplete file was modified.
    """

    def __init__(self, part: PartFile, consumer: Consumer, options: ArchiverOptions) -> None:
        self._part = part
        self._consumer = consumer
        self._options = options
        self._manifest = consumer.manifest
        self._new = CommitRecord(str(part.path), options.precision)
        self._peeked: Frame | None = None
        self._last: Frame | None = None  # last frame in the file
        self._has_taken = False
        self._commit_point: _CommitPoint | None = None
        self._committed_at, self._committed_bytes = monotonic(), 0
        self._missed_before = consumer.missed  # by the consumer, up to the last frame that was archived
        self.n_missed = 0
        self.is_done = False
        before = CommitRecord.parse(consumer.committed)
        # A consumer does not count frames before the first one that it takes; a new file needs all frames of its run.
        self._has_start = before is not None and before.last is not None
        if before is None or before.is_whole:
            is_same = before is not None and before.file == self._new.file
            if before is not None and is_same:
                self._resume(before)
                self.is_done = self._is_named(before) or (part.path.exists() and self._has_ended())
            if not self.is_done:
                self._begin()
            return
        self._check_same(before)
        self._check_free()
        part.resume(before.n_bytes)
        self._resume(before)

    def take_all(self, progress: Callable[[int], object] | None = None) -> None:
        """Archive frames until the simulation ends; see `mdreel.live.archives.archive` for the errors."""
        try:
            while (frame := self._next()) is not None:
                self._take(frame)
                del frame  # frees its slot in the ring
                if progress is not None:
                    progress(self.n_frames)
        except (StreamError, MismatchError, OSError):
            with suppress(OSError):  # report the first error
                self._commit(self._commit_point)
            raise

    def finish(self) -> None:
        """Complete the file and give it its final name. Raise StreamError if the file contains no frames."""
        path = self._consumer.path
        if not self.n_frames:
            raise StreamError("the channel has ended without a new frame; no file is written", path=path)
        assert self._last is not None
        self._coder.complete()
        self._commit(_CommitPoint(self._last, self._part.n_bytes, self._coder.n_frames), is_whole=True)
        self._consumer.close()
        self._part.name(self._coder.whole, self._options.force)
        self._coder.clear()

    def _resume(self, before: CommitRecord) -> None:
        """Continue after the last commit."""
        self.n_frames, self.n_missed = before.n_frames, before.n_missed
        if before.last is not None:
            sequence, epoch, step = before.last
            self._last = Frame(sequence, epoch, step, 0.0, None, {})
        state = {**before.coder, "n_frames": before.n_frames}
        n_atoms = self._manifest.n_atoms
        self._coder: EncodedFrames | H5mdFrames
        if find_format(self._part.path).name == H5MD:
            self._coder = H5mdFrames(self._part, n_atoms, state)
        else:
            quantities = [name for name, _ in self._manifest.sections if name in _PER_ATOM]
            self._coder = EncodedFrames(self._part, self._options.precision, n_atoms, quantities, state)

    def _begin(self) -> None:
        """Begin a new file."""
        self._has_start = False
        self._check_free()
        if self._part.n_bytes and not self._options.force:
            message = "an incomplete file exists that does not belong to the group; remove it or use force"
            raise FileExistsError(errno.EEXIST, message, str(self._part.hidden))
        self._part.resume(0)
        self._resume(self._new)
        self._commit_point, self._committed_bytes = None, 0
        # A frame that was already taken is not in the file, so commit only up to the frame before it.
        self._consumer.commit(self._new.state(), self._last if self._has_taken else None)
        self._last = None

    def _is_named(self, before: CommitRecord) -> bool:
        """Finish the work of a process that was killed after its last commit. Return whether any work was left."""
        if not self._part.n_bytes or self._part.n_bytes != before.n_bytes:
            return False
        if self._coder.whole.exists():
            self._part.name(self._coder.whole, self._options.force)
        self._part.remove()  # the source of an H5MD file
        self._coder.clear()
        return True

    def _has_ended(self) -> bool:
        """Return whether the channel has ended and all frames are archived."""
        if Status.read(self._consumer.path).state == "running":
            return False
        try:
            self._peeked = self._consumer.next(0.0)
        except StreamError:
            return True
        self._has_taken = self._peeked is not None
        return self._peeked is None

    def _next(self) -> Frame | None:
        """Return the next frame, or None at the end. Commit pending frames while waiting."""
        frame, self._peeked = self._peeked, None
        if frame is not None:
            return frame
        timeout, began = self._options.timeout, monotonic()
        while True:
            rest = COMMIT_SECONDS if timeout is None else max(0.0, timeout - (monotonic() - began))
            try:
                return self._consumer.next(min(rest, COMMIT_SECONDS))
            except StreamTimeoutError:
                self._commit(self._commit_point)
                if timeout is not None and monotonic() - began >= timeout:
                    raise StreamTimeoutError(f"no frame within {timeout:g} s", path=self._consumer.path) from None
            except StreamError as error:
                if self._options.finishes:
                    return None
                raise StreamError(f"{error}; {self._kept} until you continue or finish the archive") from error

    def _take(self, frame: Frame) -> None:
        """Append a frame."""
        path, last = self._consumer.path, self._last
        if last is not None and last.epoch != frame.epoch and frame.step <= last.step:
            # A consumer of a restarted simulation skips known steps, so an earlier step means a new run.
            if not self._options.force:
                message = f"a new run has begun, but the archive is at step {last.step} of the previous run"
                raise StreamError(f"{path}, step {frame.step}: {message}; finish it or replace it (force)")
            self._begin()
        n_missed = self._count_missed(frame)
        if n_missed and not self._options.skips_missed:
            raise self._missed_error(frame, n_missed)
        self.n_missed += n_missed
        self._missed_before, self._has_start, self._has_taken = self._consumer.missed, True, True
        try:
            is_settled = self._coder.append(ArchivedFrame.from_frame(frame))
        except MismatchError as error:
            raise MismatchError(f"{path}, step {frame.step}: {error}") from None
        self._last = Frame(frame.sequence, frame.epoch, frame.step, frame.time, None, {})
        self.n_frames += 1
        if not is_settled:
            return
        self._commit_point = _CommitPoint(self._last, self._part.n_bytes, self._coder.n_frames)
        n_new = self._part.n_bytes - self._committed_bytes
        if n_new >= COMMIT_BYTES or monotonic() - self._committed_at >= COMMIT_SECONDS:
            self._commit(self._commit_point)

    def _count_missed(self, frame: Frame) -> int:
        """Return the number of frames that are missing before this one."""
        if self._has_start:
            return self._consumer.missed - self._missed_before
        first = first_sequence_of_run(self._consumer.path)
        if first is None:
            warnings.warn(
                f"{self._consumer.path}, step {frame.step}: the channel does not say where this run begins, so frames "
                "may be missing before this step",
                MdreelWarning,
                stacklevel=3,
            )
            return 0
        return max(0, frame.sequence - first)

    def _missed_error(self, frame: Frame, n_missed: int) -> StreamError:
        """Return the error for an archive that has missed frames before this one."""
        last = self._last
        where = f"before step {frame.step}" if last is None else f"between steps {last.step} and {frame.step}"
        message = f"{n_missed:,} frames {where} were overwritten before they were archived"
        advice = "archive the other frames with on_missed='skip' (--skip-missed)"
        return StreamError(f"{self._consumer.path}: {message}; {self._kept}; {advice}")

    @property
    def _kept(self) -> str:
        return f"{self.n_frames:,} frames are kept in {self._part.hidden}"

    def _commit(self, point: "_CommitPoint | None", is_whole: bool = False) -> None:
        """Commit the frames in the file if there are new frames."""
        self._committed_at = monotonic()
        if point is None:
            return
        self._commit_point = None
        self._part.sync()
        committed = replace(
            self._new,
            n_bytes=point.n_bytes,
            n_frames=point.n_frames,
            last=(point.last.sequence, point.last.epoch, point.last.step),
            n_missed=self.n_missed,
            is_whole=is_whole,
            coder=self._coder.state(),
        )
        self._consumer.commit(committed.state(), point.last if self._has_taken else None)
        self._committed_bytes = point.n_bytes

    def _check_same(self, before: CommitRecord) -> None:
        if before.file != self._new.file:
            message = f"the group has the incomplete archive {before.file}, not {self._new.file}"
        elif before.precision != self._new.precision:
            message = f"{self._new.file} was begun with precision {before.precision}, not {self._new.precision}"
        else:
            return
        raise MismatchError(
            f"{message}; continue that archive, or give this one its own group (group=, --group)",
            path=self._consumer.path,
        )

    def _check_free(self) -> None:
        if self._part.path.exists() and not self._options.force:
            raise output_exists(self._part.path)


class _CommitPoint(NamedTuple):
    """Last frame in the file, with the number of bytes and frames up to this frame."""

    last: Frame
    n_bytes: int
    n_frames: int
