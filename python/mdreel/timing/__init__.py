"""Timing of runs, based on the terms that are used in the literature.

After an analysis has been run, its attribute ``timing`` contains a `mdreel.timing.timing.Timing`.

Examples
--------
>>> import MDAnalysis as mda
>>> import mdreel
>>> from MDAnalysisTests.datafiles import DCD, PSF
>>> timing = mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA").run().timing
>>> timing.n_frames
98
"""

from typing import Any

from mdreel.foundation.submodules import submodule, submodule_names


def __getattr__(name: str) -> Any:
    return submodule(__name__, name)


def __dir__() -> list[str]:
    return submodule_names(__name__)
