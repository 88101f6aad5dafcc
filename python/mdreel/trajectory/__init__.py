"""Functions to read, follow, write, convert, split, join and check trajectories.

Use `mdreel.open` or `follow` to open a trajectory, and `mdreel.read` or `mdreel.iread` to read it into arrays. The
other functions of this package write and examine trajectories.

Examples
--------
>>> import mdreel
>>> from MDAnalysisTests.datafiles import DCD
>>> mdreel.trajectory.convert(DCD, "adk.xtc").n_frames
98
>>> mdreel.trajectory.check("adk.xtc").is_sound
True
"""

from typing import Any

import lazy_loader

from mdreel.foundation.submodules import submodule

_get, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    return _get(name) if name in __all__ else submodule(__name__, name)
