"""Authenticated records of a checkpoint.

A record is its length, the checksum of its content and code, the content, and the code (HMAC-SHA256). The code is of
the place of the record in the file, of the first record, which no two files share, and of the content. So nobody
without the key can change records, reorder them, or copy them from another file. What a kill or a damaged disk leaves
has a wrong checksum; what somebody else has written has a right one, and a wrong code.
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
    """The records of a file, from where it is.

    Parameters
    ----------
    file : file
        The file, opened for reading and writing.
    key : bytes
        The key of the user.
    path : Path
        What errors call the file.
    """

    def __init__(self, file: IO[bytes], key: bytes, path: Path) -> None:
        self._file = file
        self._path = path
        self._key = key
        self._n_read = 0
        self._first = bytes(_N_CODE)
        self._start = file.tell(), 0

    def first(self, check: Callable[[bytes], None]) -> bytes | None:
        """Read the first record, after ``check`` has seen what it claims to be."""
        return self._read(check)

    def read(self) -> bytes | None:
        """Read the next record; None where there is no whole one.

        Raises
        ------
        FormatError
            If it is whole, and was not written with the key, in this place of this file.
        """
        return self._read(None)

    def append(self, content: bytes) -> None:
        """Write the next record, and hand it to the system."""
        code = self._code(content)
        self._file.write(_HEAD.pack(len(content), _checksum(content, code)) + content + code)
        self._file.flush()
        self._passed(content)

    def begin_here(self) -> None:
        """Have `rewind` come back to this place."""
        self._start = self._file.tell(), self._n_read

    def rewind(self) -> int:
        """Go back to where `begin_here` was called; return the place in the file."""
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
            message = f"record {self._n_read} was not written with your key, or not in this place: do not use this file"
            raise FormatError(f"{self._path}: byte {begin}: {message}: remove it")
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
