"""Checkpoints: the finished parts of a run, in a file, so that a run that was killed goes on where it was.

The file is only ever appended to: a record is its length, a checksum, and its bytes. What a kill leaves of the last one
is seen by its checksum, and cut off when the run goes on. The first record says what the run is about, the second how
it is cut into blocks, every other one is a part.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import pickle
import struct
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import IO, Any, Self

from mdreel._core import Blocks, FrameSet, Part, version
from mdreel.errors import FormatError, MismatchError, UnsupportedError
from mdreel.executors.job import Job
from mdreel.results.atomic import give_name

_MAGIC = b"mdreelC1"
_HEAD = struct.Struct("<QI")
_SYNC_SECONDS = 5.0


class Checkpoint:
    """What a run has finished, kept in a file.

    Parameters
    ----------
    path : path
        The file. If it is there, it must be of the same run; it is made otherwise.
    identity : dict of str to str
        What the run is about. A file in which something differs is refused.
    blocks : Blocks
        How the run is cut into blocks, if it is a new one.

    Attributes
    ----------
    path, identity
        As they were given.
    blocks : Blocks
        How the run is cut into blocks: as it was when it was begun.

    Raises
    ------
    MismatchError
        If the file is of a run over another trajectory, or of another analysis.
    FormatError
        If the file is no checkpoint.
    OSError
        If it cannot be read or written.

    Notes
    -----
    What is finished survives the end of the process at once, and that of the machine after a few seconds.
    """

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, str], blocks: Blocks) -> None:
        self.path = Path(path)
        self.identity = identity
        self._synced = monotonic()
        try:
            found = self.path.open("r+b")
        except FileNotFoundError:
            self.blocks = blocks
            self._file = _begun(self.path, identity, blocks)
            self._begin = self._file.tell()
        else:
            self._file = found
            with self._closed_on_failure():
                self.blocks = self._checked(identity)
        with self._closed_on_failure():
            for other in _of_ranks(self.path):
                with closing(Checkpoint(other, identity, self.blocks)) as kept:
                    kept.check_blocks(self.blocks)

    @classmethod
    def of_rank(cls, path: Path, identity: dict[str, str], rank: int, blocks: Blocks) -> Self:
        """Open the file beside a checkpoint in which another rank keeps what it finishes."""
        own = cls(path.with_name(f"{path.name}.rank{rank}"), identity, blocks)
        own.check_blocks(blocks)
        for _ in own.own_parts():
            pass  # to the end
        return own

    def check_blocks(self, blocks: Blocks) -> None:
        """Check that its parts are of these blocks, as those of a checkpoint beside which it lies are."""
        if self.blocks.to_bytes() != blocks.to_bytes():
            message = "expected the blocks of the checkpoint that it lies beside, found those of another run"
            raise MismatchError(f"{self.path}: {message}: remove it")

    def parts(self) -> Iterator[Part]:
        """Read what was finished before, a part at a time, and make ready to add to it."""
        yield from self.own_parts()
        for path in _of_ranks(self.path):
            with closing(Checkpoint(path, self.identity, self.blocks)) as other:
                yield from other.own_parts()

    def own_parts(self) -> Iterator[Part]:
        """Read the parts of this file alone; see `parts`."""
        self._file.seek(self._begin)
        end = self._begin
        while (content := _record(self._file)) is not None:
            end = self._file.tell()
            part = Part.from_bytes(content)
            part.forget_spans()
            yield part
        self._file.truncate(end)
        self._file.seek(end)

    def add(self, part: Part) -> None:
        """Keep a part."""
        self._file.write(_framed(part.to_bytes()))
        self._file.flush()
        if monotonic() - self._synced > _SYNC_SECONDS:
            os.fdatasync(self._file.fileno())
            self._synced = monotonic()

    def close(self) -> None:
        """Close the file, which stays."""
        self._file.close()

    @contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._file.close()
            raise

    def _checked(self, identity: dict[str, str]) -> Blocks:
        if self._file.read(len(_MAGIC)) != _MAGIC:
            raise FormatError(f"{self.path}: byte 0: expected a checkpoint of mdreel")
        head, blocks = _record(self._file), _record(self._file)
        if head is None or blocks is None:
            raise FormatError(f"{self.path}: the checkpoint is torn within its head")
        self._begin = self._file.tell()
        found = json.loads(head)
        for name in {**identity, **found}:
            if found.get(name) != identity.get(name):
                was, now = found.get(name, "nothing"), identity.get(name, "nothing")
                raise MismatchError(
                    f"{self.path}: the checkpoint is of another run: its {name} is {was}, that of this run is {now}"
                )
        return Blocks.from_bytes(blocks)


def remove_checkpoint(path: Path) -> None:
    """Remove a checkpoint and what ranks have kept beside it."""
    for file in (path, *_of_ranks(path)):
        file.unlink(missing_ok=True)


def _of_ranks(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.rank*[0-9]"))


def _begun(path: Path, identity: dict[str, str], blocks: Blocks) -> IO[bytes]:
    """Begin a checkpoint; it has its head when it has its name."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("xb") as file:
            file.write(_MAGIC + _framed(json.dumps(identity).encode()) + _framed(blocks.to_bytes()))
        give_name(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    made = path.open("r+b")
    made.seek(0, os.SEEK_END)
    return made


def _framed(content: bytes) -> bytes:
    return _HEAD.pack(len(content), zlib.crc32(content)) + content


def _record(file: IO[bytes]) -> bytes | None:
    """Read a record; None where there is no whole one."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    length, checksum = _HEAD.unpack(head)
    if length > os.fstat(file.fileno()).st_size - file.tell():
        return None
    content = file.read(length)
    return content if zlib.crc32(content) == checksum else None


def identity_of(job: Job, frames: FrameSet | None, keep_to_segments: bool = False) -> dict[str, str]:
    """Say what a run is about: what must be the same for a checkpoint to be of any use.

    Parameters
    ----------
    job : Job
        The source, the atoms and the kernel.
    frames : FrameSet or None
        The frames; None for all.
    keep_to_segments : bool
        Whether no block goes on in the next file.

    Returns
    -------
    dict of str to str
        Texts by name. Files are told apart by path, size and time of the last change.

    Raises
    ------
    UnsupportedError
        If the trajectory is in memory.
    """
    source = job.source
    if frames is not None and frames == FrameSet.range(0, 1, source.n_frames):
        frames = None
    kernel = pickle.dumps(job.kernel, protocol=5)
    return {
        "trajectory": "; ".join(_file_identity(facts) for facts in source.describe()),
        "treatment of damage": source.on_error,
        "transformations": _digest(pickle.dumps(source.transformations, protocol=5)),
        "set of frames": "all" if frames is None else f"{len(frames)} frames, {_digest(frames.numbers().tobytes())}",
        "set of atoms": f"{len(job.atoms)} atoms, {_digest(job.atoms.tobytes())}",
        "cut into blocks": "at the ends of files" if keep_to_segments else "anywhere",
        "analysis": _digest(kernel),
        "version of mdreel": version(),
    }


def _file_identity(facts: dict[str, Any]) -> str:
    path = facts.get("path")
    if path is None:
        raise UnsupportedError("a trajectory in memory cannot have a checkpoint: it is gone with its process")
    size = f"{facts.get('size', 'unknown')} bytes"
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError:  # what is behind a network has no time
        return f"{path}, {size}"
    return f"{Path(path).resolve()}, {size}, changed {changed}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
