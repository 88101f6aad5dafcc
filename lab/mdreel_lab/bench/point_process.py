"""Process of a point: ``python -m mdreel_lab.bench.point_process ORDER``, on each rank where these are MPI's."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from mdreel.errors import MdreelError
from mdreel.execution.executors.mpi.launcher import launched
from mdreel.timing.environment import environment_of, versions
from mdreel.timing.files import write_record
from mdreel.timing.record import Record
from mdreel.timing.spans import COORDINATOR
from mdreel.trajectory.open import open as open_trajectory
from mdreel_lab.bench import empty_tasks, workload
from mdreel_lab.bench.cache_state import prepared
from mdreel_lab.bench.each_host import refresh_on_hosts
from mdreel_lab.bench.ranks import hosts_of_ranks
from mdreel_lab.bench.records import DONE, Kept, keep, place_of, spans_of
from mdreel_lab.bench.workload import Order, Result


def main() -> None:
    """Run the order on the command line; of several ranks, the first one schedules the others."""
    ranks = launched()
    is_alone = ranks is None or ranks.size == 1
    if not is_alone:
        from mdreel.execution.executors.mpi.executor import Mpi

        if ranks is not None and ranks.rank > 0:
            Mpi().serve()
    code = 1
    try:
        do(Order.of_json(sys.argv[1]))
        code = 0
    except (MdreelError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        if not is_alone:
            Mpi().leave(code)
    sys.exit(code)


def do(order: Order) -> None:
    """Run a point and keep its record."""
    point = order.point
    with prepared([Path(path) for path in order.paths], point.cache) as (paths, state):
        if point.program == "mdreel":
            for path in paths:
                open_trajectory(str(path))  # makes the index of the frames, whose time is not measured
        refresh_on_hosts(order, paths)
        environment = environment_of(paths)
        result = _measured(replace(order, paths=[str(path) for path in paths]))
    environment["versions"] = versions()  # of all that was loaded
    facts = {**order.facts, **result.facts, "cache": state, "check": result.check, "hosts": _hosts(result)}
    folder, spans = Path(order.folder), None
    if result.timing is not None:
        spans = spans_of(place_of(folder, point))
        spans.parent.mkdir(parents=True, exist_ok=True)
        # The file exists already if an earlier run was killed before it wrote its record.
        write_record(Record(result.timing, environment, None, str(point)), spans, force=True)
    keep(folder, Kept(point, DONE, "", result.seconds, facts, environment, spans))


def _hosts(result: Result) -> dict[str, int]:
    """Return the number of workers on each host, as they report it."""
    ranks = launched()
    if ranks is not None and ranks.size > 1:
        return dict(Counter(hosts_of_ranks(ranks.size)))
    crew = {} if result.timing is None else result.timing.crew
    return dict(Counter(member.host for worker, member in crew.items() if worker != COORDINATOR))


def _measured(order: Order) -> Result:
    point = order.point
    if point.workload == "empty-tasks":
        return empty_tasks.hand_out(order)
    if point.workload == "split":
        return workload.split(order)
    return workload.analyse(order) if point.program == "mdreel" else _of_peer(order)


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
