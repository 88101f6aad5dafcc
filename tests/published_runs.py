"""Runs of the papers' own program, on ranks or in one process. Rank 0 writes the rows and the spans."""

import json
import sys
from pathlib import Path

import numpy as np

from mdreel_lab.bench.published.on_ranks import OnRanks, Outcome
from mdreel_lab.bench.workload import Order


def outcome_of(order: Order) -> Outcome | None:
    if order.point.executor == "mpi":
        from mpi4py import MPI

        return OnRanks(order, MPI.COMM_WORLD).run()
    from mdreel_lab.bench.published import on_dask

    return on_dask.prepare(order)()


def main() -> None:
    folder, orders = Path(sys.argv[1]), [Order.of_json(line) for line in json.loads(sys.argv[2])]
    for i, order in enumerate(orders):
        outcome = outcome_of(order)
        if outcome is not None:
            np.save(folder / f"run{i}.npy", outcome.rows)
            np.save(folder / f"run{i}.spans.npy", outcome.timing.spans)
            (folder / f"run{i}.seconds").write_text(str(outcome.seconds))


if __name__ == "__main__":
    main()
