"""Damaged frames that a run has skipped on request."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mdreel.errors import DamagedFrameWarning
from mdreel.foundation.stack_level import caller_level

_NAMED = 5


@dataclass(frozen=True)
class DamagedFrame:
    """A damaged part of a trajectory.

    Attributes
    ----------
    frame : int or None
        Number of the frame in the trajectory, or None for bytes after the last complete frame of a file.
    path : Path
        The file.
    byte : int or None
        Byte position of the damage in the file, if it is known.
    message : str
        Error message with path, frame, byte, expected value and value found.
    """

    frame: int | None
    path: Path
    byte: int | None
    message: str


def damaged_frames(records: Iterable[tuple[int | None, Path, int | None, str]]) -> tuple[DamagedFrame, ...]:
    """Convert records from the core.

    Parameters
    ----------
    records : iterable of tuple
        Frame, path, byte and message of each damaged frame.

    Returns
    -------
    tuple of DamagedFrame
        The damaged frames, in the same order.
    """
    return tuple(DamagedFrame(frame, Path(path), byte, message) for frame, path, byte, message in records)


def warn_of_damage(damage: Sequence[DamagedFrame], on_error: str) -> None:
    """Warn about skipped frames at the line of the caller, stating their number and the first few messages.

    Parameters
    ----------
    damage : sequence of DamagedFrame
        Frames that were skipped.
    on_error : {"stop", "skip"}
        How damaged frames are handled.
    """
    if not damage:
        return
    named = [one.message for one in damage[:_NAMED]]
    if len(damage) > _NAMED:
        named.append(f"and {len(damage) - _NAMED} more")
    what = "the trajectory ends before damage" if on_error == "stop" else f"{len(damage)} damaged, left out"
    text = "\n".join([f"{what}:", *named])
    warnings.warn(text, DamagedFrameWarning, stacklevel=caller_level())


def damage_metadata(damage: Sequence[DamagedFrame], on_error: str) -> dict[str, str | int]:
    """Return metadata about skipped frames for a table.

    Parameters
    ----------
    damage : sequence of DamagedFrame
        Frames that were skipped.
    on_error : {"raise", "stop", "skip"}
        How damaged frames are handled.

    Returns
    -------
    dict
        ``on_error``, ``n_damaged`` and ``damage`` (the messages, separated by ``; ``). The dictionary is empty if no
        frames were skipped.
    """
    if not damage:
        return {}
    return {"on_error": on_error, "n_damaged": len(damage), "damage": "; ".join(one.message for one in damage)}
