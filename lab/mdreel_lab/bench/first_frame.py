"""Time until a rank has read its first frame, from one file and from a chain of many segments.

Start it with MPI: ``mpiexec -n 4 python -m mdreel_lab.bench.first_frame TOPOLOGY TRAJECTORY``.

The first run of an input locates its frames, and keeps a description of the chain. It is printed apart from the later
runs. The benchmark also measures how long rank 0 needs for one ``stat`` of each file, which no
run can avoid.
"""

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

from mdreel.execution.executors.mpi.executor import Mpi, world
from mdreel.timing.spans import KINDS
from mdreel.timing.timing import Timing

_READING = tuple(KINDS.index(kind) for kind in ("read", "decompress"))
_SETTLING_SECONDS = 2.5
"""Age of the files from which a run keeps a description of them."""


def first_frame_times(timing: Timing, rank: int) -> tuple[float, float]:
    """Return when a rank has read its first frame.

    Parameters
    ----------
    timing : Timing
        Timing of a run.
    rank : int
        Number of the rank.

    Returns
    -------
    since_call, since_job : float
        Time since the call of the analysis, which plans first, and since the rank had the job, ms.
    """
    own = timing.spans[timing.spans["worker"] == rank]
    read = own[np.isin(own["kind"], _READING) & (own["n_frames"] > 0)]
    first = int(read["stop_ns"].min())
    return 1e-6 * first, 1e-6 * (first - int(own["start_ns"].min()))


def measure(topology: str, trajectory: str, n_segments: int, n_rounds: int) -> list[str] | None:
    """Time one file and a chain of its segments in alternating rounds, on all ranks; return lines on rank 0."""
    import MDAnalysis as mda

    from mdreel.analysis.rmsd import RMSD
    from mdreel.trajectory.split import split

    communicator = world()
    ranks = Mpi(schedule="static", communicator=communicator)
    last = ranks.n_workers - 1
    atoms = mda.Universe(topology).select_atoms("protein and name CA")
    folder = ranks.share(lambda: tempfile.mkdtemp(prefix="first-frame-"))
    os.environ["MDREEL_CACHE_DIR"] = str(Path(folder, "cache"))
    part = f"part{Path(trajectory).suffix}"  # an index takes time, so the segments have the format of the file
    parts = ranks.share(lambda: [str(path) for path in split(trajectory, Path(folder, part), n_parts=n_segments).paths])
    ranks.share(lambda: time.sleep(_SETTLING_SECONDS))
    inputs: dict[str, str | list[str]] = {"one file": trajectory, f"{n_segments:,} segments": parts}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in inputs}
    floors = []
    for _ in range(n_rounds + 1):
        floors.append(ranks.share(lambda: _stat_ms(parts)))
        for name, paths in inputs.items():
            run = RMSD(atoms, trajectory=paths).run(backend=ranks)
            times[name].append(first_frame_times(run.timing, last))
    if communicator.rank != 0:
        return None
    shutil.rmtree(folder)
    floor = f"one stat of each of {n_segments:,} files takes rank 0 {median(floors):.2f} ms"
    return [*_lines(times, last), floor]


def _stat_ms(paths: Sequence[str]) -> float:
    """Return how long one thread needs to look at all files, in ms."""
    begun_ns = time.perf_counter_ns()
    for path in paths:
        os.stat(path)  # noqa: PTH116 (the time of the system call is measured)
    return 1e-6 * (time.perf_counter_ns() - begun_ns)


def _lines(times: dict[str, list[tuple[float, float]]], rank: int) -> list[str]:
    """Return a table of medians, and the time of each first run, which does not count."""
    lines = [
        f"First frame of rank {rank}: median (lowest to highest), ms",
        f"{'':<16} {'since the call':<28} since the job",
    ]
    medians = []
    for name, found in times.items():
        columns = list(zip(*found[1:], strict=True))
        medians.append([median(column) for column in columns])
        texts = [f"{median(column):.2f} ({min(column):.2f} to {max(column):.2f})" for column in columns]
        lines.append(f"{name:<16} {texts[0]:<28} {texts[1]}")
    ratios = [other / one for one, other in zip(*medians, strict=True)]
    lines.append(f"{'ratio':<16} {ratios[0]:<28.2f} {ratios[1]:.2f}")
    lines.extend(f"first run of {name}: {found[0][0]:.1f} ms since the call" for name, found in times.items())
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table on rank 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topology")
    parser.add_argument("trajectory")
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=201)
    given = parser.parse_args(arguments)
    lines = measure(given.topology, given.trajectory, given.segments, given.rounds)
    if lines is not None:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
