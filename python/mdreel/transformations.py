"""On-the-fly transformations of frames.

Pass transformations to the ``run`` method of an analysis. mdreel then applies them to each frame as it is read.

Examples
--------
>>> import MDAnalysis as mda
>>> import mdreel
>>> from MDAnalysisTests.datafiles import TPR, XTC
>>> protein = mda.Universe(TPR, XTC).select_atoms("protein")
>>> rg = mdreel.Rg(protein).run(transformations=[mdreel.transformations.unwrap(protein)])
>>> rg.results.rgyr.shape
(10, 6)
"""

from mdreel.analysis.transformations import center_in_box, fit_rot_trans, nojump, unwrap, wrap

__all__ = ["center_in_box", "fit_rot_trans", "nojump", "unwrap", "wrap"]


def __dir__() -> list[str]:
    return __all__.copy()
