"""Commit records of an archive: file length and position in the stream."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from mdreel.errors import FormatError
from mdreel.foundation.untrusted_input import number, object_of, shown, text, whole

_MOST_BYTES = 1 << 20
_MOST_PATH = 4096


@dataclass(frozen=True)
class Committed:
    """How far an archive has come.

    Attributes
    ----------
    file : str
        The file, as an absolute path.
    precision : float or None
        Integers per nm that were asked for.
    n_bytes : int
        Length of the file under its hidden name.
    n_frames : int
        Frames in it.
    last : tuple of int, or None
        Number, epoch and step of the last of them.
    is_whole : bool
        Whether the file is whole: all that may be missing is its name.
    coder : dict
        What the format needs to go on.
    """

    file: str
    precision: float | None
    n_bytes: int = 0
    n_frames: int = 0
    last: tuple[int, int, int] | None = None
    is_whole: bool = False
    coder: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, state: bytes | None) -> Self | None:
        """Return what was committed, if anything was.

        Raises
        ------
        FormatError
            If it is not what an archive commits.
        """
        if not state:
            return None
        found = object_of(state, _MOST_BYTES)
        match found.get("last"):
            case None:
                last = None
            case [int(sequence), int(epoch), int(step)]:
                last = (sequence, epoch, step)
            case other:
                raise FormatError(f"expected number, epoch and step of a frame, got {shown(other)}")
        coder, is_whole = found.get("coder", {}), found.get("is_whole", False)
        if not isinstance(coder, dict) or not isinstance(is_whole, bool):
            raise FormatError(f"expected what an archive commits, got {shown(found)}")
        return cls(
            text(found, "file", _MOST_PATH),
            None if found.get("precision") is None else number(found, "precision"),
            whole(found, "n_bytes"),
            whole(found, "n_frames"),
            last,
            is_whole,
            coder,
        )

    def state(self) -> bytes:
        """Return it as bytes, to be committed."""
        return json.dumps(asdict(self)).encode()
