"""A program for ranks: runs of the papers' own program, one after another, of which rank 0 keeps rows and spans."""

import json
import sys
from pathlib import Path

import numpy as np

from mdreel_lab.bench.published.on_ranks import OnRanks
from mdreel_lab.bench.workload import Order


def main() -> None:
    from mpi4py import MPI

    folder, orders = Path(sys.argv[1]), [Order.of_json(line) for line in json.loads(sys.argv[2])]
    for i, order in enumerate(orders):
        outcome = OnRanks(order, MPI.COMM_WORLD).run()
        if outcome is not None:
            np.save(folder / f"run{i}.npy", outcome.rows)
            np.save(folder / f"run{i}.spans.npy", outcome.timing.spans)


if __name__ == "__main__":
    main()
