"""Trajectories: reading, following, writing, converting, splitting, joining and checking.

`mdreel.open` and `follow` open trajectories, and `mdreel.read` and `mdreel.iread` read them into arrays. The other
functions of this package write and examine trajectories.

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
