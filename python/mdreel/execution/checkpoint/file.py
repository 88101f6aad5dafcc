"""Checkpoint files, from which interrupted runs can be continued.

mdreel only appends records to the file; see `records` for the format. If a run was killed and the last record is
incomplete, the next run removes this record. The first record contains the identity of the run, and the second record
contains the blocks. Every other record contains a part of the results. Parts can contain pickled values from the user's
code. Therefore, mdreel reads a part only if no other user can write to the file, and if the record is authenticated
with the user's key.
"""

from __future__ import annotations

import glob
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import Self

from mdreel._core import Blocks, Part
from mdreel.errors import FormatError, MismatchError
from mdreel.execution.checkpoint.differences import describe_differences
from mdreel.execution.checkpoint.key import KEY_VARIABLE, name_of_key, user_key
from mdreel.execution.checkpoint.records import Records
from mdreel.foundation.atomic_files import give_name
from mdreel.foundation.trusted_files import open_trusted

_MAGIC = b"mdreelC2"
_EARLIER = b"mdreelC1"
_SYNC_SECONDS = 5.0


class Checkpoint:
    """File that stores the results of all complete blocks of a run.

    Parameters
    ----------
    path : path
        The file. It is created if it does not exist. An existing file must belong to the same run.
    identity : dict of str to str
        Identity of the run. It must match the identity in an existing file.
    blocks : Blocks
        Blocks of a new run.

    Attributes
    ----------
    path, identity
        The arguments.
    blocks : Blocks
        Blocks of the run. If the file already existed, they are read from the file.

    Raises
    ------
    MismatchError
        If the file belongs to a different trajectory or analysis.
    FormatError
        If the file is not a checkpoint, or a record is not authenticated with the user's key.
    UnsupportedError
        If the file could have been written by another user, or if the user's key cannot be stored.
    OSError
        If the file cannot be read or written.

    Notes
    -----
    Complete blocks survive the end of the process immediately, and a crash of the machine after a few seconds. Only the
    owner of a new file can read it and write to it.
    """

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, str], blocks: Blocks) -> None:
        self.path = Path(path)
        self.identity = identity
        self._synced = monotonic()
        self._key = user_key()
        try:
            self._file = open_trusted(self.path, write=True)
        except FileNotFoundError:
            _begin(self.path, identity, blocks, self._key)
            self._file = open_trusted(self.path, write=True)
        with self._closed_on_failure():
            self.blocks = self._checked(identity)
        with self._closed_on_failure():
            for other in _of_ranks(self.path):
                with closing(Checkpoint(other, identity, self.blocks)) as kept:
                    kept.check_blocks(self.blocks)

    @classmethod
    def of_rank(cls, path: Path, identity: dict[str, str], rank: int, blocks: Blocks) -> Self:
        """Open the file of another rank, which is located beside the checkpoint."""
        own = cls(path.with_name(f"{path.name}.rank{rank}"), identity, blocks)
        own.check_blocks(blocks)
        for _ in own.own_parts():
            pass  # move to the end of the file
        return own

    def check_blocks(self, blocks: Blocks) -> None:
        """Check that the file of a rank has the same blocks as its checkpoint."""
        if self.blocks.to_bytes() != blocks.to_bytes():
            message = "expected the blocks of the checkpoint beside it, found those of another run"
            raise MismatchError(f"{message}: remove it", path=self.path)

    def parts(self) -> Iterator[Part]:
        """Yield all parts, and move to the end of the file, where `add` appends new parts."""
        yield from self.own_parts()
        for path in _of_ranks(self.path):
            with closing(Checkpoint(path, self.identity, self.blocks)) as other:
                yield from other.own_parts()

    def own_parts(self) -> Iterator[Part]:
        """Yield only the parts of this file; see `parts`."""
        end = self._records.rewind()
        while (content := self._records.read()) is not None:
            end = self._file.tell()
            part = Part.from_bytes(content)
            part.forget_spans()
            yield part
        self._file.truncate(end)
        self._file.seek(end)

    def add(self, part: Part) -> None:
        """Append a part."""
        self._records.append(part.to_bytes())
        if monotonic() - self._synced > _SYNC_SECONDS:
            os.fdatasync(self._file.fileno())
            self._synced = monotonic()

    def close(self) -> None:
        """Close the file without removing it."""
        self._file.close()

    @contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._file.close()
            raise

    def _checked(self, identity: dict[str, str]) -> Blocks:
        magic = self._file.read(len(_MAGIC))
        if magic == _EARLIER:
            message = "an earlier version of mdreel wrote this checkpoint without authentication"
            raise FormatError(f"{message}: remove it", path=self.path)
        if magic != _MAGIC:
            raise FormatError("byte 0: expected a checkpoint of mdreel", path=self.path)
        self._records = Records(self._file, self._key, self.path)
        head = self._records.first(self._named_key)
        blocks = None if head is None else self._records.read()
        if head is None or blocks is None:
            raise FormatError("the checkpoint ends within its header", path=self.path)
        self._records.begin_here()
        changes = describe_differences(json.loads(head)["identity"], identity)
        if changes:
            remedy = "to start again, remove the file or name another file; to continue the other run, undo the change"
            raise MismatchError(f"the checkpoint is of another run: {changes}: {remedy}", path=self.path)
        return Blocks.from_bytes(blocks)

    def _named_key(self, head: bytes) -> None:
        """Reject a header that refers to a different key with a clear message. The record is authenticated later."""
        try:
            key = json.loads(head)["key"]
        except (ValueError, KeyError, TypeError):
            raise FormatError(f"byte {len(_MAGIC)}: expected the header of a checkpoint", path=self.path) from None
        if key != name_of_key(self._key):
            message = "another user wrote this checkpoint, or you wrote it with another key"
            raise FormatError(f"{message}: remove it, or set {KEY_VARIABLE} to the file of its key", path=self.path)


def remove_checkpoint(path: Path) -> None:
    """Remove a checkpoint, and the files of ranks that are located beside it."""
    for file in (path, *_of_ranks(path)):
        file.unlink(missing_ok=True)


def _of_ranks(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.rank*[0-9]"))


def _begin(path: Path, identity: dict[str, str], blocks: Blocks, key: bytes) -> None:
    """Create a checkpoint with its first two records."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    head = {"identity": identity, "key": name_of_key(key), "file": secrets.token_hex(16)}
    try:
        with os.fdopen(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w+b") as file:
            file.write(_MAGIC)
            records = Records(file, key, path)
            records.append(json.dumps(head).encode())
            records.append(blocks.to_bytes())
        give_name(temporary, path)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename == os.fspath(temporary):
            error.filename = os.fspath(path)  # the name that the user knows
        temporary.unlink(missing_ok=True)
        raise
