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
    """What of a trajectory could not be read.

    Attributes
    ----------
    frame : int or None
        Number of the frame in the trajectory; None for what stands behind the last whole frame of a file.
    path : Path
        The file.
    byte : int or None
        Where in it something is wrong, if that is known.
    message : str
        What the error would say: path, frame, byte, what was expected and what was found.
    """

    frame: int | None
    path: Path
    byte: int | None
    message: str


def damaged_frames(records: Iterable[tuple[int | None, Path, int | None, str]]) -> tuple[DamagedFrame, ...]:
    """Name the parts of the core's records.

    Parameters
    ----------
    records : iterable of tuple
        Frame, path, byte and message of each.

    Returns
    -------
    tuple of DamagedFrame
        The same, in the same order.
    """
    return tuple(DamagedFrame(frame, Path(path), byte, message) for frame, path, byte, message in records)


def warn_of_damage(damage: Sequence[DamagedFrame], on_error: str) -> None:
    """Warn of what was left out: how much, and the first few by name, one on a line. The caller's line is named.

    Parameters
    ----------
    damage : sequence of DamagedFrame
        What was left out.
    on_error : {"stop", "skip"}
        Why.
    """
    if not damage:
        return
    named = [one.message for one in damage[:_NAMED]]
    if len(damage) > _NAMED:
        named.append(f"and {len(damage) - _NAMED} more")
    what = "the trajectory ends before damage" if on_error == "stop" else f"{len(damage)} damaged, left out"
    text = "\n".join([f"{what}:", *named])
    warnings.warn(text, DamagedFrameWarning, stacklevel=caller_level())


def facts_of_damage(damage: Sequence[DamagedFrame], on_error: str) -> dict[str, str | int]:
    """Say what was left out, for the metadata of a table.

    Parameters
    ----------
    damage : sequence of DamagedFrame
        What was left out.
    on_error : {"raise", "stop", "skip"}
        What was asked for.

    Returns
    -------
    dict
        ``on_error``, ``n_damaged`` and ``damage`` (the messages, with ``; `` between them); empty if nothing was left
        out.
    """
    if not damage:
        return {}
    return {"on_error": on_error, "n_damaged": len(damage), "damage": "; ".join(one.message for one in damage)}
