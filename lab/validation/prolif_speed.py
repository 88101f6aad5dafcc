"""Times of interaction fingerprints of mdreel and ProLIF, on the same frames of the same file.

``python lab/validation/prolif_speed.py TOPOLOGY TRAJECTORY SELECTION OTHER --frames 2000`` prints the time per frame of
ProLIF (serial and with two processes) and of mdreel with one and two threads. Each measurement is repeated, and the
table shows the median with the lowest and the highest time. Before, it checks that both find the same numbers of
interactions of each kind, within ``--within``.

With ``--water SELECTION --order N``, both find the bridges of up to N waters of this selection instead.
"""

import argparse
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
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


def counted(table: Any) -> Counter[str]:
    """Return how many pairs of residues have each interaction, in all frames of a data frame."""
    found: Counter[str] = Counter()
    for (*_, name), column in table.items():
        found[name] += int((column > 0).sum())
    return found


def difference(ours: Counter[str], theirs: Counter[str], within: float) -> str | None:
    """Return a message about an interaction whose numbers differ by more than this part; None if there is none."""
    if not ours:
        return "mdreel finds no interactions: choose groups that interact"
    for name in sorted({*ours, *theirs}):
        if abs(ours[name] - theirs[name]) > within * max(ours[name], theirs[name]):
            return f"mdreel finds {ours[name]} times {name}, and ProLIF {theirs[name]} times"
    return None


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("topology", "trajectory", "selection", "other"):
        parser.add_argument(name)
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--prolif-frames", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--interactions", nargs="*", default=EIGHT)
    parser.add_argument("--water")
    parser.add_argument("--order", type=int, default=1)
    parser.add_argument("--within", type=float, default=0.02)
    return parser.parse_args()


def main() -> int:
    """Measure and print a table; return 1 if the results differ."""
    given = arguments()
    warnings.simplefilter("ignore")
    universe = MDAnalysis.Universe(given.topology, given.trajectory)
    known = getattr(universe.atoms, "elements", [""] * universe.atoms.n_atoms)
    names = [name.lstrip("0123456789")[0] for name in universe.atoms.names]
    universe.add_TopologyAttr("elements", [element or name for element, name in zip(known, names, strict=True)])
    first, second = universe.select_atoms(given.selection), universe.select_atoms(given.other)
    interactions: list[str] = given.interactions
    parameters: dict[str, dict[str, Any]] = {}
    if given.water:
        interactions = ["WaterBridge"]
        parameters = {"WaterBridge": {"water": universe.select_atoms(given.water), "order": given.order}}
    rows = {}
    start = time.perf_counter()
    run = InteractionFingerprint(first, second, interactions, parameters, pbc=False)
    prepared = time.perf_counter() - start
    try:
        import prolif
    except ImportError:
        print("prolif is not installed")
    else:

        def theirs(n_jobs: int) -> Any:
            fingerprint = prolif.Fingerprint(interactions, parameters=parameters)
            frames = universe.trajectory[: given.prolif_frames]
            return fingerprint.run(frames, first, second, n_jobs=n_jobs, progress=False)

        ours = run.run(stop=given.prolif_frames)
        if problem := difference(counted(ours.to_dataframe()), counted(theirs(1).to_dataframe()), given.within):
            print(f"the results differ: {problem}", file=sys.stderr)
            return 1
        for label, n_jobs in (("ProLIF, serial", 1), ("ProLIF, 2 processes", 2)):
            rows[label] = timed(partial(theirs, n_jobs), min(given.rounds, 3), given.prolif_frames)
    for n_workers in (1, 2):
        stop = min(given.frames, universe.trajectory.n_frames)
        run.run(stop=stop, n_workers=n_workers)
        work = partial(run.run, stop=stop, n_workers=n_workers)
        rows[f"mdreel, {n_workers} threads"] = timed(work, given.rounds, stop)
    print(f"chemistry, once: {prepared:.2f} s")
    for name, (median, low, high) in rows.items():
        print(f"{name:<20}{median:>12,.1f} µs per frame ({low:,.1f} to {high:,.1f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
