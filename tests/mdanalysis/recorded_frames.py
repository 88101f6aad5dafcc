"""What a reader of MDAnalysis shows, kept for comparison."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from MDAnalysis.coordinates.core import get_reader_for
from MDAnalysisTests import datafiles

# One file of each format, with what it can hold.
FILES = {
    "XTC": datafiles.XTC,
    "TRR": datafiles.TRR_xvf,
    "DCD": datafiles.DCD,
    "NCDF": datafiles.NCDF,
    "H5MD": datafiles.H5MD_xvf,
}


def make_reader(path: Any, **options: Any) -> Any:
    """The reader that a Universe would make."""
    return get_reader_for(str(path))(str(path), **options)


def recorded(ts: Any) -> dict[str, Any]:
    """All that a timestep holds, copied."""
    names = ("positions", "velocities", "forces")
    arrays = {name: getattr(ts, name).copy() for name in names if getattr(ts, f"has_{name}")}
    dimensions = None if ts.dimensions is None else ts.dimensions.copy()
    data = {key: np.copy(value) for key, value in ts.data.items()}
    return {"frame": ts.frame, "time": ts.time, "dt": ts.dt, "dimensions": dimensions, **arrays, **data}


def check_same(ours: Iterable[dict[str, Any]], theirs: Iterable[dict[str, Any]]) -> None:
    """Check that frames are the same in every bit."""
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.keys() == other.keys()
        for name, expected in other.items():
            np.testing.assert_array_equal(mine[name], expected, err_msg=f"{name} of frame {other['frame']}")
            if name in ("positions", "velocities", "forces"):
                assert mine[name].dtype == expected.dtype == np.float32
