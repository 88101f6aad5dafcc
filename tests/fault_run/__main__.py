"""Command ``python -m fault_run``."""

import argparse
import tempfile
from pathlib import Path

from fault_run.runs import run


def main() -> None:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(prog="python -m fault_run", description="Randomized fault run of channels.")
    parser.add_argument("--seed", type=int, default=1, help="seed of all faults (default: 1)")
    parser.add_argument("--seconds", type=float, default=3600.0, help="duration of all rounds (default: 3600)")
    parser.add_argument("--round-seconds", type=float, default=240.0, help="duration of a round (default: 240)")
    parser.add_argument("--first-round", type=int, default=0, help="number of the first round (default: 0)")
    parser.add_argument("--folder", type=Path, help="folder for journals and archives (default: a temporary one)")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="fault-run-"))
    folder.mkdir(parents=True, exist_ok=True)
    run(options.seed, options.seconds, folder, options.round_seconds, options.first_round)


if __name__ == "__main__":
    main()
