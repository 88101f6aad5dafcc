"""Readers and executors of mdreel for use with MDAnalysis.

`accelerate` makes MDAnalysis read trajectories with mdreel. `backend` runs MDAnalysis analyses on the executors of
mdreel.

Examples
--------
>>> import MDAnalysis as mda
>>> import mdreel
>>> from MDAnalysisTests.datafiles import DCD, PSF
>>> with mdreel.mdanalysis.accelerate():
...     universe = mda.Universe(PSF, DCD)
>>> universe.trajectory.n_frames
98
"""

from typing import Any

import lazy_loader

from mdreel.foundation.submodules import submodule

_get, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    return _get(name) if name in __all__ else submodule(__name__, name)
