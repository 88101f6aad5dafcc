"""Differences between the identity of a checkpoint and the identity of a run, for messages."""

import re
from collections.abc import Mapping
from datetime import datetime

from mdreel.foundation.formatting import counted

_DIGEST = re.compile(r"(?:, )?\b[0-9a-f]{16}\b")
_CHANGED = re.compile(r", changed (\d+)$")
_BETWEEN_FILES = "; "
_MOST = 6
_NANOSECONDS = 10**9


def describe_differences(found: Mapping[str, str], given: Mapping[str, str]) -> str:
    """Return the properties in which a checkpoint differs from a run, without digests and with dates.

    Parameters
    ----------
    found, given : mapping of str to str
        Identity in the checkpoint, and identity of the run; see `run_identity`.

    Returns
    -------
    str
        The differences, or an empty text if there are none.

    Examples
    --------
    >>> from mdreel.execution.checkpoint.differences import describe_differences
    >>> describe_differences({"set of frames": "98 frames, 0123456789abcdef"}, {"set of frames": "all"})
    'its set of frames is 98 frames, that of this run is all'
    """
    both = [name for name in given if name in found and found[name] != given[name]]
    changes = [_change(name, found[name], given[name]) for name in both]
    changes += [f"it has no {name}, which this run has" for name in given if name not in found]
    changes += [f"its {name} is not in this run" for name in found if name not in given]
    if len(changes) > _MOST:
        changes[_MOST:] = [f"{len(changes) - _MOST} more differences"]
    return "; ".join(changes)


def _change(name: str, found: str, given: str) -> str:
    if _CHANGED.search(found) or _CHANGED.search(given):
        return _change_of_files(name, found.split(_BETWEEN_FILES), given.split(_BETWEEN_FILES))
    before, now = (_DIGEST.sub("", text) for text in (found, given))
    if not before or not now or before == now:
        return f"its {name} is not the same as in this run"
    return f"its {name} is {before}, that of this run is {now}"


def _change_of_files(name: str, found: list[str], given: list[str]) -> str:
    if len(found) != len(given):
        return f"its {name} is {counted(len(found), 'file')}, that of this run is {counted(len(given), 'file')}"
    pairs = [(before, now) for before, now in zip(found, given, strict=True) if before != now]
    before, now = pairs[0]
    more = f" ({counted(len(pairs) - 1, 'more file')} changed)" if len(pairs) > 1 else ""
    shown = [_dated(one, is_exact=False) for one in (before, now)]
    if shown[0] == shown[1]:
        shown = [_dated(one, is_exact=True) for one in (before, now)]
    return f"its {name} is {shown[0]}, that of this run is {shown[1]}{more}"


def _dated(file: str, *, is_exact: bool) -> str:
    """Return the description of a file with the local date of its last change instead of the time since 1970, in ns."""

    def date(match: re.Match[str]) -> str:
        seconds, rest = divmod(int(match[1]), _NANOSECONDS)
        fraction = f".{rest:09}" if is_exact else ""
        return f", changed {datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}{fraction}"

    return _CHANGED.sub(date, file)
