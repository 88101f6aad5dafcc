"""Committed state of an archive, including the length of its file and its position in the stream."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from mdreel.errors import FormatError
from mdreel.foundation.untrusted_input import number, object_of, shown, text, whole

_MOST_BYTES = 1 << 20
_MOST_PATH = 4096


@dataclass(frozen=True)
class CommitRecord:
    """Committed state of an archive.

    Attributes
    ----------
    file : str
        Absolute path of the file.
    precision : float or None
        Requested precision of XTC files, in integers per nm.
    n_bytes : int
        Length of the incomplete file, in bytes.
    n_frames : int
        Number of frames in the file.
    last : tuple of int, or None
        Sequence number, epoch and step of the last frame.
    n_missed : int
        Number of frames that are missing from the file because the user has allowed frames to be missed.
    is_whole : bool
        Whether the content is complete. In this case, only the final name of the file can still be missing.
    coder : dict
        State of the format's encoder.
    """

    file: str
    precision: float | None
    n_bytes: int = 0
    n_frames: int = 0
    last: tuple[int, int, int] | None = None
    n_missed: int = 0
    is_whole: bool = False
    coder: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, state: bytes | None) -> Self | None:
        """Parse a committed state. Return None if there is no state.

        Raises
        ------
        FormatError
            If the bytes are not the state of an archive.
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
                raise FormatError(f"expected sequence number, epoch and step of a frame, got {shown(other)}")
        coder, is_whole = found.get("coder", {}), found.get("is_whole", False)
        if not isinstance(coder, dict) or not isinstance(is_whole, bool):
            raise FormatError(f"expected the state of an archive, got {shown(found)}")
        return cls(
            text(found, "file", _MOST_PATH),
            None if found.get("precision") is None else number(found, "precision"),
            whole(found, "n_bytes"),
            whole(found, "n_frames"),
            last,
            whole(found, "n_missed") if "n_missed" in found else 0,
            is_whole,
            coder,
        )

    def state(self) -> bytes:
        """Encode the state as JSON."""
        return json.dumps(asdict(self)).encode()
