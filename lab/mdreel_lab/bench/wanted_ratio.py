"""The number of computations for each frame that reaches a ratio of computing to reading."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from mdreel.errors import MismatchError
from mdreel_lab.bench.grid import Point
from mdreel_lab.bench.measures import Measured
from mdreel_lab.bench.records import Kept


def load_of_ratio(point: Point, run: Callable[[Point], Kept[Point]]) -> int:
    """Return how often one worker must compute the RMSD of each frame to reach ``point.ratio``.

    Parameters
    ----------
    point : Point
        A point with a ratio.
    run : callable
        Returns the record of a point with one worker, which has a load instead of a ratio.

    Returns
    -------
    int
        The load, at least 1. It is 1 if a single computation reaches a higher ratio.

    Notes
    -----
    The first estimate is from a run with a load of 1, in which the times of a frame also contain what does not grow
    with the load. A second run with the estimate corrects it. All points of a series have the same runs, also with weak
    scaling, where the runs have the frames of one worker.
    """
    load = 1
    n_frames = point.n_frames // point.n_workers if point.scaling == "weak" else point.n_frames
    for _ in range(2):
        series = f"{point.program} {point.executor}, pilot, W = {load}"
        pilot = replace(point, series=series, ratio=0.0, load=load, n_frames=n_frames, n_workers=1, repeat=0)
        measured = Measured(run(pilot)).ratio
        if not 0 < measured < math.inf:
            raise MismatchError(f"{pilot}: R_comp/io is {measured}: a ratio needs a run that reads and computes")
        load = max(1, round(load * point.ratio / measured))
    return load
