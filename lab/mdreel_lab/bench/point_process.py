"""Process of a point: ``python -m mdreel_lab.bench.point_process ORDER``, on each rank where these are MPI's."""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mdreel.errors import MdreelError
from mdreel.execution.executors.mpi.launcher import launched
from mdreel.timing.environment import environment_of, versions
from mdreel.timing.files import write_record
from mdreel.timing.record import Record
from mdreel.timing.spans import COORDINATOR
from mdreel.trajectory.open import open as open_trajectory
from mdreel_lab.bench import empty_tasks, workload
from mdreel_lab.bench.cache_state import prepared
from mdreel_lab.bench.each_host import refresh_on_hosts, refresh_together
from mdreel_lab.bench.ranks import hosts_of_ranks
from mdreel_lab.bench.records import DONE, Kept, keep, place_of, spans_of
from mdreel_lab.bench.workload import Order, Result

if TYPE_CHECKING:
    from mdreel_lab.bench.published.on_ranks import Outcome

Measurement: TypeAlias = Callable[[], Result]
"""The part of a run that is measured."""


def main() -> None:
    """Run the order on the command line; of several ranks, the first one keeps the record."""
    order = Order.of_json(sys.argv[1])
    ranks = launched()
    if _is_on_ranks_of_papers(order):
        _on_ranks_of_papers(order)
    elif ranks is None or ranks.size == 1:
        sys.exit(_code_of(order, prepare))
    else:
        from mdreel.execution.executors.mpi.executor import Mpi

        if ranks.rank > 0:
            Mpi().serve()
        code = 1
        try:
            code = _code_of(order, prepare)
        finally:
            Mpi().leave(code)
        sys.exit(code)


def prepare(order: Order) -> Measurement:
    """Do what is not measured, and return the measurement."""
    measure = _measurement_of(order)
    refresh_on_hosts(order)
    return measure


def _measurement_of(order: Order) -> Measurement:
    """Prepare the measurement of an order, and return it."""
    point = order.point
    if point.program == "mdreel":
        for path in order.paths:
            open_trajectory(path)  # makes the index of the frames
    if point.workload == "empty-tasks":
        return lambda: empty_tasks.hand_out(order)
    if point.program == "mdreel":
        return lambda: workload.split(order) if point.workload == "split" else workload.analyse(order)
    if point.program == "published":
        from mdreel_lab.bench.published import on_dask

        run = on_dask.prepare(order)
        return lambda: _result_of(run())
    return lambda: _of_peer(order)


def do(order: Order, prepared_by: Callable[[Order], Measurement]) -> None:
    """Run a point and keep its record."""
    point = order.point
    with prepared([Path(path) for path in order.paths], point.cache) as (paths, state):
        measure = prepared_by(replace(order, paths=[str(path) for path in paths]))
        environment = environment_of(paths)
        result = measure()
    environment["versions"] = versions()  # of all that was loaded
    facts = {**order.facts, **result.facts, "cache": state, "check": result.check, "hosts": _hosts(order, result)}
    folder, spans = Path(order.folder), None
    if result.timing is not None:
        spans = spans_of(place_of(folder, point))
        spans.parent.mkdir(parents=True, exist_ok=True)
        # The file exists already if an earlier run was killed before it wrote its record.
        write_record(Record(result.timing, environment, None, str(point)), spans, force=True)
    keep(folder, Kept(point, DONE, "", result.seconds, facts, environment, spans))


def _code_of(order: Order, prepared_by: Callable[[Order], Measurement]) -> int:
    """Run a point and return the exit code; an error is printed."""
    try:
        do(order, prepared_by)
    except (MdreelError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _on_ranks_of_papers(order: Order) -> None:
    """Run a point with the program of the papers on all ranks; any error ends all of them."""
    from mpi4py import MPI

    from mdreel_lab.bench.published.on_ranks import OnRanks

    ranks = MPI.COMM_WORLD

    def begin(order: Order | None) -> OnRanks:
        """Prepare a run on all ranks, which get the order from rank 0."""
        order = ranks.bcast(order)
        assert order is not None, "it is that of rank 0"
        run = OnRanks(order, ranks)
        refresh_together(order, ranks)
        return run

    def prepare_together(order: Order) -> Measurement:
        run = begin(order)

        def measure() -> Result:
            outcome = run.run()
            assert outcome is not None, "this is rank 0"
            return _result_of(outcome)

        return measure

    code = 1
    try:
        if ranks.rank == 0:
            code = _code_of(order, prepare_together)
        else:
            begin(None).run()
            code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stderr.flush()
        if code:
            ranks.Abort(code)  # the other ranks would wait forever


def _result_of(outcome: Outcome) -> Result:
    """Return the result of a program of the papers."""
    return Result(outcome.seconds, float(outcome.rows[:, 1].mean()), outcome.timing)


def _is_on_ranks_of_papers(order: Order) -> bool:
    """Return whether the program of the papers runs on MPI ranks, which do not serve as those of mdreel do."""
    return (order.point.program, order.point.executor) == ("published", "mpi")


def _hosts(order: Order, result: Result) -> dict[str, int]:
    """Return the number of workers on each host, as they report it."""
    ranks = launched()
    if ranks is not None and ranks.size > 1 and not _is_on_ranks_of_papers(order):
        return dict(Counter(hosts_of_ranks(ranks.size)))
    crew = {} if result.timing is None else result.timing.crew
    return dict(Counter(member.host for worker, member in crew.items() if worker != COORDINATOR))


def _of_peer(order: Order) -> Result:
    """Compute the RMSD with another program."""
    from mdreel_lab.bench.peers.job import Job
    from mdreel_lab.bench.peers.process import run_job

    point, (path,) = order.point, order.paths
    files = (order.topology, order.reference, path)
    report = run_job(point.program, Job("rmsd", point.executor, point.n_workers, *files, point.selection))
    return Result(report["seconds"], report["mean_rmsd"])


if __name__ == "__main__":
    main()
