"""Times of interaction fingerprints of mdreel and ProLIF, on the same frames of the same file.

``python lab/validation/prolif_speed.py TOPOLOGY TRAJECTORY SELECTION OTHER --frames 2000`` prints the time per frame of
ProLIF (serial) and of mdreel with one and two threads. Each measurement is repeated, and the table shows the median
with the lowest and the highest time.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import MDAnalysis

from mdreel.analysis import InteractionFingerprint

EIGHT = ["Hydrophobic", "HBDonor", "HBAcceptor", "PiStacking", "Anionic", "Cationic", "CationPi", "PiCation"]


def timed(call: Callable[[], Any], n_rounds: int, n_frames: int) -> tuple[float, float, float]:
    """Return the median, lowest and highest time per frame in µs."""
    found = []
    for _ in range(n_rounds):
        start = time.perf_counter()
        call()
        found.append((time.perf_counter() - start) / n_frames * 1e6)
    return statistics.median(found), min(found), max(found)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("topology", "trajectory", "selection", "other"):
        parser.add_argument(name)
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--prolif-frames", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--interactions", nargs="*", default=EIGHT)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    universe = MDAnalysis.Universe(given.topology, given.trajectory)
    groups = [universe.select_atoms(each) for each in (given.selection, given.other)]
    rows = {}
    start = time.perf_counter()
    run = InteractionFingerprint(*groups, given.interactions)
    prepared = time.perf_counter() - start
    for n_workers in (1, 2):
        stop = min(given.frames, universe.trajectory.n_frames)
        run.run(stop=stop, n_workers=n_workers)
        rows[f"mdreel, {n_workers} threads"] = timed(
            lambda n=n_workers, stop=stop: run.run(stop=stop, n_workers=n), given.rounds, stop
        )
    try:
        import prolif
    except ImportError:
        print("prolif is not installed")
    else:
        if not hasattr(universe.atoms, "elements"):
            universe.add_TopologyAttr("elements", [name.lstrip("0123456789")[0] for name in universe.atoms.names])

        def serial() -> None:
            fingerprint = prolif.Fingerprint(given.interactions)
            fingerprint.run(universe.trajectory[: given.prolif_frames], *groups, n_jobs=1, progress=False)

        rows["ProLIF, serial"] = timed(serial, min(given.rounds, 3), given.prolif_frames)
    print(f"chemistry, once: {prepared:.2f} s")
    for name, (median, low, high) in rows.items():
        print(f"{name:<20}{median:>12,.1f} µs per frame ({low:,.1f} to {high:,.1f})")


if __name__ == "__main__":
    main()
