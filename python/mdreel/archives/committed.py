"""What an archive commits: the length of its file, together with the place in the stream."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self


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
        """Return what was committed, if anything was."""
        return cls(**json.loads(state)) if state else None

    def state(self) -> bytes:
        """Return it as bytes, to be committed."""
        return json.dumps(asdict(self)).encode()
