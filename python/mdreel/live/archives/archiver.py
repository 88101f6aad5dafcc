"""Archiver, which writes frames and commits its position in the stream."""

import errno
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple

from mdreel.errors import MismatchError, StreamError, StreamTimeoutError
from mdreel.live.archives.commit_record import Committed
from mdreel.live.archives.core_formats import EncodedFrames
from mdreel.live.archives.frames import ArchivedFrame
from mdreel.live.archives.h5md import H5mdFrames
from mdreel.live.archives.part_file import PartFile
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.status import Status
from mdreel.trajectory.output_file import H5MD, find_format

COMMIT_SECONDS = 1.0
"""A commit is made when the last is so long ago, s, or so many bytes have come; what is behind it is done again."""

COMMIT_BYTES = 64 << 20

_OF_ATOMS = ("positions", "velocities", "forces")


@dataclass(frozen=True)
class Choices:
    """What of an archive can be chosen; see `mdreel.live.archives.archive`.

    Attributes
    ----------
    precision : float or None
        Integers per nm, for XTC.
    timeout : float or None
        For how long a frame may be waited for, s.
    bears_missed : bool
        Whether frames may be missed.
    finishes : bool
        Whether the file ends where the simulation has failed or was lost.
    force : bool
        Whether what is there may be replaced.
    """

    precision: float | None = None
    timeout: float | None = None
    bears_missed: bool = False
    finishes: bool = False
    force: bool = False


class Archiver:
    """Writes the frames of a consumer to a file.

    Parameters
    ----------
    part : PartFile
        The file under its hidden name.
    consumer : Consumer
        A member of a group, which has joined.
    choices : Choices
        What was chosen.

    Attributes
    ----------
    is_done : bool
        Whether the file is whole, has its name, and no frame has come since.
    n_frames : int
        Frames in the file.
    n_missed : int
        Frames that could not be had.

    Raises
    ------
    FileExistsError
        If there is such a file.
    MismatchError
        If the group has another file that is not whole.
    FormatError
        If somebody has changed the file.
    """

    def __init__(self, part: PartFile, consumer: Consumer, choices: Choices) -> None:
        self._part = part
        self._consumer = consumer
        self._choices = choices
        self._manifest = consumer.manifest
        self._new = Committed(str(part.path), choices.precision)
        self._peeked: Frame | None = None
        self._last: Frame | None = None  # that is in the file
        self._has_taken = False
        self._settled: _Settled | None = None
        self._committed_at, self._committed_bytes = monotonic(), 0
        self.n_missed = consumer.missed
        self.is_done = False
        before = Committed.of(consumer.committed)
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
        """Take frames until the simulation ends.

        Raises
        ------
        StreamError
            If it has failed or was lost, or frames were missed.
        StreamTimeoutError
            If no frame came in time.
        MismatchError
            If the format cannot hold a frame, or a new run has begun.
        OSError
            If it cannot be written.
        """
        try:
            while (frame := self._next()) is not None:
                self._take(frame)
                del frame  # its place in the ring is the producer's again
                if progress is not None:
                    progress(self.n_frames)
        except (StreamError, MismatchError, OSError):
            with suppress(OSError):  # what was said first is what matters
                self._commit(self._settled)
            raise

    def finish(self) -> None:
        """Give the file its name.

        Raises
        ------
        StreamError
            If there is no frame in it.
        OSError
            If it cannot be written.
        """
        path = self._consumer.path
        if not self.n_frames:
            raise StreamError(f"{path}: it has ended without a frame that is not archived: no file is made")
        assert self._last is not None
        self._coder.complete()
        self._commit(_Settled(self._last, self._part.n_bytes, self._coder.n_frames), is_whole=True)
        self._consumer.close()
        self._part.name(self._coder.whole, self._choices.force)
        self._coder.clear()

    def _resume(self, before: Committed) -> None:
        """Go on behind what was committed."""
        self.n_frames = before.n_frames
        if before.last is not None:
            sequence, epoch, step = before.last
            self._last = Frame(sequence, epoch, step, 0.0, None, {})
        state = {**before.coder, "n_frames": before.n_frames}
        n_atoms = self._manifest.n_atoms
        self._coder: EncodedFrames | H5mdFrames
        if find_format(self._part.path).name == H5MD:
            self._coder = H5mdFrames(self._part, n_atoms, state)
        else:
            quantities = [name for name, _ in self._manifest.sections if name in _OF_ATOMS]
            self._coder = EncodedFrames(self._part, self._choices.precision, n_atoms, quantities, state)

    def _begin(self) -> None:
        """Begin the file."""
        self._check_free()
        if self._part.n_bytes and not self._choices.force:
            message = "a file that is not whole is there, of which the group knows nothing"
            raise FileExistsError(errno.EEXIST, message, str(self._part.hidden))
        self._part.resume(0)
        self._resume(self._new)
        self._settled, self._committed_bytes = None, 0
        # A frame that was taken is not in the file, so that what is committed ends before it.
        self._consumer.commit(self._new.state(), self._last if self._has_taken else None)
        self._last = None

    def _is_named(self, before: Committed) -> bool:
        """Do what was left to do by a process that was killed behind its last commit; return whether there was any."""
        if not self._part.n_bytes or self._part.n_bytes != before.n_bytes:
            return False
        if self._coder.whole.exists():
            self._part.name(self._coder.whole, self._choices.force)
        self._part.remove()  # what an H5MD file was made of
        self._coder.clear()
        return True

    def _has_ended(self) -> bool:
        """Whether no frame will come that is not archived."""
        if Status.of(self._consumer.path).state == "running":
            return False
        try:
            self._peeked = self._consumer.next(0.0)
        except StreamError:
            return True
        self._has_taken = self._peeked is not None
        return self._peeked is None

    def _next(self) -> Frame | None:
        """Return the next frame; None at the end. While none comes, what has come is committed."""
        frame, self._peeked = self._peeked, None
        if frame is not None:
            return frame
        timeout, began = self._choices.timeout, monotonic()
        while True:
            rest = COMMIT_SECONDS if timeout is None else max(0.0, timeout - (monotonic() - began))
            try:
                return self._consumer.next(min(rest, COMMIT_SECONDS))
            except StreamTimeoutError:
                self._commit(self._settled)
                if timeout is not None and monotonic() - began >= timeout:
                    raise StreamTimeoutError(f"{self._consumer.path}: no frame came within {timeout:g} s") from None
            except StreamError as error:
                if self._choices.finishes:
                    return None
                kept = f"{self.n_frames:,} frames are kept in {self._part.hidden}"
                raise StreamError(f"{error}; {kept}, until the archive goes on or is finished") from error

    def _take(self, frame: Frame) -> None:
        """Append a frame."""
        missed, path = self._consumer.missed, self._consumer.path
        if missed > self.n_missed and not self._choices.bears_missed:
            message = f"{missed - self.n_missed} frames were overwritten before they were archived"
            raise StreamError(f"{path}, step {frame.step}: {message}")
        self.n_missed, self._has_taken = missed, True
        last = self._last
        if last is not None and last.epoch != frame.epoch and frame.step <= last.step:
            # Of a simulation that was restarted, steps that were seen do not come again.
            if not self._choices.force:
                message = f"a new run has begun, but the archive is at step {last.step} of the run before: finish it"
                raise StreamError(f"{path}, step {frame.step}: {message}, or replace it (force)")
            self._begin()
        try:
            is_settled = self._coder.append(ArchivedFrame.of(frame))
        except MismatchError as error:
            raise MismatchError(f"{path}, step {frame.step}: {error}") from None
        self._last = Frame(frame.sequence, frame.epoch, frame.step, frame.time, None, {})
        self.n_frames += 1
        if not is_settled:
            return
        self._settled = _Settled(self._last, self._part.n_bytes, self._coder.n_frames)
        n_new = self._part.n_bytes - self._committed_bytes
        if n_new >= COMMIT_BYTES or monotonic() - self._committed_at >= COMMIT_SECONDS:
            self._commit(self._settled)

    def _commit(self, settled: "_Settled | None", is_whole: bool = False) -> None:
        """Commit frames that are in the file, unless none has come since."""
        self._committed_at = monotonic()
        if settled is None:
            return
        self._settled = None
        self._part.sync()
        committed = replace(
            self._new,
            n_bytes=settled.n_bytes,
            n_frames=settled.n_frames,
            last=(settled.last.sequence, settled.last.epoch, settled.last.step),
            is_whole=is_whole,
            coder=self._coder.state(),
        )
        self._consumer.commit(committed.state(), settled.last if self._has_taken else None)
        self._committed_bytes = settled.n_bytes

    def _check_same(self, before: Committed) -> None:
        if before.file != self._new.file:
            message = f"the group archives to {before.file}, which is not whole, not to {self._new.file}"
        elif before.precision != self._new.precision:
            message = f"{self._new.file} was begun with precision {before.precision}, not {self._new.precision}"
        else:
            return
        raise MismatchError(f"{self._consumer.path}: {message}: go on with that, or name another group")

    def _check_free(self) -> None:
        if self._part.path.exists() and not self._choices.force:
            raise FileExistsError(errno.EEXIST, "the output exists already", str(self._part.path))


class _Settled(NamedTuple):
    """Frames that are in the file: the last, bytes and frames up to it."""

    last: Frame
    n_bytes: int
    n_frames: int
