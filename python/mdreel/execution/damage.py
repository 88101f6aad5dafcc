"""Damaged frames that a run left out on request."""

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
        Number of the frame in the trajectory; None for bytes behind the last complete frame of a file.
    path : Path
        The file.
    byte : int or None
        Position of the damage in the file, if it is known.
    message : str
        Text of the error: path, frame, byte, expected and found values.
    """

    frame: int | None
    path: Path
    byte: int | None
    message: str


def damaged_frames(records: Iterable[tuple[int | None, Path, int | None, str]]) -> tuple[DamagedFrame, ...]:
    """Convert records of the core.

    Parameters
    ----------
    records : iterable of tuple
        Frame, path, byte and message of each.

    Returns
    -------
    tuple of DamagedFrame
        The damaged frames, in the same order.
    """
    return tuple(DamagedFrame(frame, Path(path), byte, message) for frame, path, byte, message in records)


def warn_of_damage(damage: Sequence[DamagedFrame], on_error: str) -> None:
    """Warn of frames that were left out, with their number and the first few messages, at the line of the caller.

    Parameters
    ----------
    damage : sequence of DamagedFrame
        Frames that were left out.
    on_error : {"stop", "skip"}
        Handling of damaged frames.
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
    """Return metadata of a table about the frames that were left out.

    Parameters
    ----------
    damage : sequence of DamagedFrame
        Frames that were left out.
    on_error : {"raise", "stop", "skip"}
        Handling of damaged frames.

    Returns
    -------
    dict
        ``on_error``, ``n_damaged`` and ``damage`` (the messages, separated by ``; ``); empty if no frame was left out.
    """
    if not damage:
        return {}
    return {"on_error": on_error, "n_damaged": len(damage), "damage": "; ".join(one.message for one in damage)}
