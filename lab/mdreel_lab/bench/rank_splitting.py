"""Splitting of a trajectory by MPI ranks: each rank writes one segment, on whatever host it is."""

from __future__ import annotations

import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

from mdreel.errors import MismatchError
from mdreel_lab.bench.ranks import on_ranks


def split_on_ranks(path: Path, folder: Path, n_ranks: int) -> tuple[float, int, dict[str, Any]]:
    """Write one segment per rank into a folder that all hosts see.

    Returns
    -------
    seconds : float
        Time until the last rank has written its segment, s.
    n_frames : int
        Number of frames of all segments.
    facts : dict
        ``rank_seconds``: the time of each rank, s.
    """
    from mdreel.trajectory.open import open as open_trajectory

    n_frames = open_trajectory(str(path)).n_frames
    if n_ranks > n_frames:
        raise MismatchError(f"{path}: {n_frames} frames cannot be split into {n_ranks} parts")
    edges = [n_frames * i // n_ranks for i in range(n_ranks + 1)]
    width = len(str(n_ranks))
    arguments = [
        (str(path), str(folder / f"part-{rank + 1:0{width}}{path.suffix}"), edges[rank], edges[rank + 1])
        for rank in range(n_ranks)
    ]
    began = perf_counter()
    answers = [write_segment(*arguments[0])] if n_ranks == 1 else on_ranks(write_segment, arguments)
    seconds = perf_counter() - began
    facts = {"rank_seconds": [own for own, _ in answers]}
    return seconds, sum(written for _, written in answers), facts


def write_segment(path: str, output: str, start: int, stop: int) -> tuple[float, int]:
    """Write some frames of a trajectory to a file; return how long it took, s, and the number of frames."""
    from mdreel.trajectory.convert import convert

    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        written = convert(path, output, start=start, stop=stop, n_workers=1)
    return perf_counter() - began, written.n_frames
