"""Parallel analysis of molecular dynamics trajectories, as fast as the hardware allows.

To analyse a trajectory, create an analysis for atoms of an MDAnalysis Universe, call its ``run`` method, and read its
``results``. The analyses have the same names, parameters and results as in MDAnalysis. Use `mdreel.trajectory` to read,
write and check trajectories, and `mdreel.live` to analyse running simulations.

Examples
--------
>>> import MDAnalysis as mda
>>> import mdreel
>>> from MDAnalysisTests.datafiles import DCD, PSF
>>> rmsd = mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA").run()
>>> rmsd.results.rmsd.shape
(98, 3)
"""

from typing import Any

import lazy_loader

from mdreel.foundation.submodules import submodule

_get, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

__all__ = [name for name in _names if not name.endswith(("Error", "Warning", "errors"))]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from mdreel._core import version

        return version()
    return _get(name) if name in _names else submodule(__name__, name)
