"""On-the-fly transformations of frames."""

from mdreel.analysis.transformations import center_in_box, fit_rot_trans, nojump, unwrap, wrap

__all__ = ["center_in_box", "fit_rot_trans", "nojump", "unwrap", "wrap"]


def __dir__() -> list[str]:
    return __all__.copy()
