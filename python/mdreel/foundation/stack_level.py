"""Stack levels of warnings."""

import sys


def caller_level() -> int:
    """Return the stack level of the user's line that called mdreel, to be passed to `warnings.warn`."""
    frame, level = sys._getframe(1), 1  # noqa: SLF001 (no other way to inspect the stack)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "mdreel":
        frame, level = frame.f_back, level + 1
    return level
