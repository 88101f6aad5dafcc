"""Checkpoint files, which let an interrupted run continue.

The file is only ever appended to; `checkpoint_records` says what a record is. What a kill leaves of the last one is cut
off when the run goes on. The first record says what the run is about, the second how it is cut into blocks, every other
one is a part. Values of users' own code in a part are pickled. So mdreel reads no part unless the file is the user's
alone, and the record carries a code that only the user's key makes.
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
from mdreel.execution.checkpoint.key import name_of_key, user_key
from mdreel.execution.checkpoint.records import Records
from mdreel.foundation.atomic_files import give_name
from mdreel.foundation.trusted_files import open_trusted

_MAGIC = b"mdreelC2"
_EARLIER = b"mdreelC1"
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
        If the file is no checkpoint, or if a record was not written with the user's key.
    UnsupportedError
        If other users can have written the file, or if there is no place for the user's key.
    OSError
        If it cannot be read or written.

    Notes
    -----
    What is finished survives the end of the process at once, and that of the machine after a few seconds. A new file
    can be read and written by its owner alone.
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
        end = self._records.rewind()
        while (content := self._records.read()) is not None:
            end = self._file.tell()
            part = Part.from_bytes(content)
            part.forget_spans()
            yield part
        self._file.truncate(end)
        self._file.seek(end)

    def add(self, part: Part) -> None:
        """Keep a part."""
        self._records.append(part.to_bytes())
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
        magic = self._file.read(len(_MAGIC))
        if magic == _EARLIER:
            message = "an earlier mdreel has written this checkpoint, and nothing shows that no other user did"
            raise FormatError(f"{self.path}: {message}: remove it")
        if magic != _MAGIC:
            raise FormatError(f"{self.path}: byte 0: expected a checkpoint of mdreel")
        self._records = Records(self._file, self._key, self.path)
        head = self._records.first(self._named_key)
        blocks = None if head is None else self._records.read()
        if head is None or blocks is None:
            raise FormatError(f"{self.path}: the checkpoint is torn within its head")
        self._records.begin_here()
        found = json.loads(head)["identity"]
        changes = [
            f"its {name} is {found.get(name, 'nothing')}, that of this run is {identity.get(name, 'nothing')}"
            for name in {**identity, **found}
            if found.get(name) != identity.get(name)
        ]
        if changes:
            remedy = "to begin anew, remove the file or name another; to go on, undo the change"
            raise MismatchError(f"{self.path}: the checkpoint is of another run: {'; '.join(changes)}: {remedy}")
        return Blocks.from_bytes(blocks)

    def _named_key(self, head: bytes) -> None:
        """Refuse a head that says that another key was used; whether it says the truth is seen by its code."""
        try:
            key = json.loads(head)["key"]
        except (ValueError, KeyError, TypeError):
            raise FormatError(f"{self.path}: byte {len(_MAGIC)}: expected the head of a checkpoint") from None
        if key != name_of_key(self._key):
            message = f"another user, or you with another key ({key}), have written this checkpoint"
            raise FormatError(f"{self.path}: {message}: remove it, or name its key with MDREEL_KEY_FILE")


def remove_checkpoint(path: Path) -> None:
    """Remove a checkpoint and what ranks have kept beside it."""
    for file in (path, *_of_ranks(path)):
        file.unlink(missing_ok=True)


def _of_ranks(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.rank*[0-9]"))


def _begin(path: Path, identity: dict[str, str], blocks: Blocks, key: bytes) -> None:
    """Begin a checkpoint; it has its head when it has its name."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    head = {"identity": identity, "key": name_of_key(key), "file": secrets.token_hex(16)}
    try:
        with os.fdopen(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w+b") as file:
            file.write(_MAGIC)
            records = Records(file, key, path)
            records.append(json.dumps(head).encode())
            records.append(blocks.to_bytes())
        give_name(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
