"""Program of the ranks: does the runs of one start, and writes what rank 0 has recorded.

``mpiexec -n N python -m mdreel_lab.bench.interference.ranks ORDER``
"""

import json
import os
import socket
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mdreel.errors import MdreelError
from mdreel.timing.observables import NAMES, Observables
from mdreel_lab.bench.interference.settings import BUSY, DEFAULT, OF_RMSD, SEGMENTS, Setting
from mdreel_lab.bench.records import write_json
from mdreel_lab.bench.rigs.links import received_bytes

_SETTLE_SECONDS = 0.3
"""Time in which the load of another job fills the queue of its link, s."""

_IDLE_BYTES = 1 << 14
"""A link is idle if it carries less in a twentieth of a second. The file system reads ahead after a load has ended."""

_PATIENCE = 20.0


@dataclass(frozen=True)
class Order:
    """The runs of a start, the files they read, and where the records go."""

    runs: list[Setting]
    topology: str
    trajectory: str
    segments: list[str]
    marker: str
    output: str

    def to_json(self) -> str:
        """Return the order as the argument of the program."""
        return json.dumps(asdict(self))


def main() -> None:
    """Do all runs of the order on the command line."""
    import MDAnalysis as mda

    from mdreel.execution.executors.mpi.executor import world

    values = json.loads(sys.argv[1])
    order = Order(runs=[Setting(**run) for run in values.pop("runs")], **values)
    universe = mda.Universe(order.topology)
    ranks, records = world(), []
    for setting in order.runs:
        record = _run(order, setting, universe, ranks)
        if ranks.rank == 0:
            records.append(record)
    if ranks.rank == 0:
        write_json(Path(order.output), records)


def _run(order: Order, setting: Setting, universe: Any, ranks: Any) -> dict[str, Any]:
    """Do one run with a cold cache, and return its record on rank 0."""
    from mdreel.execution.executors.mpi.executor import Mpi

    is_split, is_static = setting.access == SEGMENTS, setting.access != DEFAULT
    paths = order.segments if is_split else [order.trajectory]
    access: Any = ("segments" if is_split else "shared") if is_static else None
    transfer: Any = setting.transfer
    executor = Mpi(schedule="static" if is_static else "demand", communication=transfer)
    analysis = _analysis(setting, universe, paths)
    _prepare(order, setting, paths, ranks)
    before = [received_bytes(network) for network in (0, 1)]
    began = time.perf_counter()
    analysis.run(backend=executor, access=access)
    seconds = time.perf_counter() - began
    received = [received_bytes(network) - first for network, first in zip((0, 1), before, strict=True)]
    of_ranks = ranks.gather((socket.gethostname(), *received))
    if ranks.rank:
        return {}
    found = analysis.timing.observables
    return {
        "setting": asdict(setting),
        "seconds": seconds,
        "t_total": found.t_total,
        "file_bytes": sum(Path(path).stat().st_size for path in paths),
        "received": {host: [files, messages] for host, files, messages in of_ranks},
        "check": _check(setting, analysis),
        "observables": _listed(found),
    }


def _prepare(order: Order, setting: Setting, paths: list[str], ranks: Any) -> None:
    """Drop the files from the cache of each host, and start or stop the load."""
    if ranks.rank == 0:
        if setting.load == BUSY:
            Path(order.marker).touch()
        else:
            Path(order.marker).unlink(missing_ok=True)
    for path in paths:
        with open(path, "rb") as file:  # noqa: PTH123
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if setting.load == BUSY:
        time.sleep(_SETTLE_SECONDS)
    else:
        _await_idle_link()
    ranks.Barrier()


def _await_idle_link() -> None:
    """Wait until the link of the file system of this host carries nothing."""
    until, last = time.monotonic() + _PATIENCE, -_IDLE_BYTES
    while (now := received_bytes()) - last >= _IDLE_BYTES:
        if time.monotonic() > until:
            raise MdreelError(f"the link of {socket.gethostname()} is still busy after {_PATIENCE:g} s without a load")
        last = now
        time.sleep(0.05)


def _analysis(setting: Setting, universe: Any, paths: list[str]) -> Any:
    from mdreel.analysis.dihedrals import Dihedrals
    from mdreel.analysis.rmsd import RMSD

    trajectory: Any = paths if len(paths) > 1 else paths[0]
    if setting.workload == OF_RMSD:
        return RMSD(universe.select_atoms("protein and name CA"), trajectory=trajectory)
    return Dihedrals(universe.select_atoms("protein"), features="cos_sin", complete=True, trajectory=trajectory)


def _check(setting: Setting, analysis: Any) -> float:
    """Return a number to which every result contributes; it has the same bits for the same workload."""
    results = analysis.results
    return float(np.sum(results.rmsd[:, 2] if setting.workload == OF_RMSD else results.angles, dtype=np.float64))


def _listed(found: Observables) -> dict[str, list[float]]:
    names = (*NAMES, "t_own", "n_frames", "n_bytes")
    return {name: getattr(found, name).tolist() for name in names}


if __name__ == "__main__":
    main()
