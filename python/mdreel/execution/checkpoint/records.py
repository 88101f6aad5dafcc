"""Authenticated records of a checkpoint.

A record consists of its length, a checksum, its content and an authentication code (HMAC-SHA256). The code is computed
from the content, the number of the record, and the first record, which is unique to the file. Without the key, nobody
can modify records, reorder them, or copy them from another file. If a record is incomplete, because the process was
killed or the disk is damaged, its checksum is wrong. In contrast, a forged record has a correct checksum, but a wrong
code.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

from mdreel.errors import FormatError

_HEAD = struct.Struct("<QI")
_N_CODE = 32
_CODE = struct.Struct("<Q32s")


class Records:
    """Records of a file, starting at its current position.

    Parameters
    ----------
    file : file
        The file, open for reading and writing.
    key : bytes
        The user's key.
    path : Path
        Path of the file, for messages.
    """

    def __init__(self, file: IO[bytes], key: bytes, path: Path) -> None:
        self._file = file
        self._path = path
        self._key = key
        self._n_read = 0
        self._first = bytes(_N_CODE)
        self._start = file.tell(), 0

    def first(self, check: Callable[[bytes], None]) -> bytes | None:
        """Read the first record. ``check`` is called with its content before it is authenticated."""
        return self._read(check)

    def read(self) -> bytes | None:
        """Read the next record, or return None if there is no complete record.

        Raises
        ------
        FormatError
            If the record is complete, but has a wrong code.
        """
        return self._read(None)

    def append(self, content: bytes) -> None:
        """Append a record and flush it."""
        code = self._code(content)
        self._file.write(_HEAD.pack(len(content), _checksum(content, code)) + content + code)
        self._file.flush()
        self._passed(content)

    def begin_here(self) -> None:
        """Mark the position to which `rewind` will return."""
        self._start = self._file.tell(), self._n_read

    def rewind(self) -> int:
        """Go back to the position marked by `begin_here`, and return this position."""
        place, self._n_read = self._start
        self._file.seek(place)
        return place

    def _read(self, check: Callable[[bytes], None] | None) -> bytes | None:
        begin = self._file.tell()
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        length, checksum = _HEAD.unpack(head)
        if length > os.fstat(self._file.fileno()).st_size - self._file.tell() - _N_CODE:
            return None
        content, code = self._file.read(length), self._file.read(_N_CODE)
        if _checksum(content, code) != checksum:
            return None
        if check is not None:
            check(content)
        if not hmac.compare_digest(code, self._code(content)):
            message = f"record {self._n_read} is not authenticated with your key for this place: do not use this file"
            raise FormatError(f"byte {begin}: {message}: remove it", path=self._path)
        self._passed(content)
        return content

    def _code(self, content: bytes) -> bytes:
        code = hmac.new(self._key, b"mdreel: record of a checkpoint", hashlib.sha256)
        code.update(_CODE.pack(self._n_read, self._first))
        code.update(content)
        return code.digest()

    def _passed(self, content: bytes) -> None:
        if self._n_read == 0:
            self._first = hashlib.sha256(content).digest()
        self._n_read += 1


def _checksum(content: bytes, code: bytes) -> int:
    return zlib.crc32(code, zlib.crc32(content))
