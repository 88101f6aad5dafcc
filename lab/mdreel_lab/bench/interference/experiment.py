"""Rig and rounds of the experiment: hosts with throttled links, a MooseFS, and ranks of MPI."""

import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdreel.errors import UnsupportedError
from mdreel_lab.bench.data import make
from mdreel_lab.bench.environment import environment_with_peers
from mdreel_lab.bench.interference.ranks import Order
from mdreel_lab.bench.interference.settings import MPICH, SHARED, Start, starts
from mdreel_lab.bench.processes import child_environment, end, run_process
from mdreel_lab.bench.records import read_json
from mdreel_lab.bench.rigs import moosefs
from mdreel_lab.bench.rigs.hosts import Host, network_hosts, why_there_are_none
from mdreel_lab.bench.rigs.links import Throttle, throttle, why_there_is_none

Log = Callable[[str], object]

_NAMES = ("anna", "bert", "cara")
_SERVERS = "servers"
_LOAD_BYTES = 96 << 20
"""Size of the file that the other job reads."""

_LIMIT = 300.0


@dataclass(frozen=True)
class Size:
    """Size of the experiment.

    Attributes
    ----------
    n_frames : int
        Frames of adenylate kinase, about 12 KB each.
    n_ranks_per_host : int
        Ranks on each of the three hosts.
    n_rounds : int
        Repeats of all runs, one round after the other.
    limit : Throttle
        Each direction of each link.
    mpis : tuple of str
        MPI implementations that take part.
    seconds : float
        A round begins only if it would end within this time, as estimated from the rounds before it, s.
    """

    n_frames: int
    n_ranks_per_host: int
    n_rounds: int
    limit: Throttle
    mpis: tuple[str, ...]
    seconds: float = math.inf

    @property
    def n_ranks(self) -> int:
        """Number of ranks on all hosts."""
        return len(_NAMES) * self.n_ranks_per_host


def why_it_cannot_run() -> str | None:
    """Return the reason why the experiment cannot run here, or None if it can."""
    return why_there_are_none() or moosefs.why_there_is_none() or why_there_is_none()


def measure(size: Size, data: Path, log: Log) -> dict[str, Any]:
    """Run the experiment; return the environment and the records of all runs.

    Raise an `UnsupportedError` if it cannot run here, or a `ProcessError` if ranks fail.
    """
    if problem := why_it_cannot_run():
        raise UnsupportedError(problem)
    environment = environment_with_peers()
    system = make("adk", size.n_frames, data, ("xtc",))
    segments = _split(system.trajectory("xtc"), size.n_ranks)
    records: list[dict[str, Any]] = []
    with ExitStack() as stack:
        folders = [
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mdreel-interference-", dir=place)))
            for place in (None, None, None, data)
        ]
        work, mounted, made, state = (folder.resolve() for folder in folders)
        *hosts, servers = stack.enter_context(network_hosts([*_NAMES, _SERVERS], made, n_networks=2))
        log(moosefs.start_moosefs(servers, hosts, mounted, state))
        files = _copied(hosts[0], [system.trajectory("xtc"), *segments], mounted)
        _write_load(hosts[0], mounted / "load")
        for network in (0, 1):
            throttle(hosts, size.limit, network)
        marker = work / "marker"
        stack.enter_context(_loaded(hosts[0], marker, mounted / "load"))
        began = time.monotonic()
        for number in range(1, size.n_rounds + 1):
            if (time.monotonic() - began) * number > size.seconds * max(number - 1, 1):
                log(f"no time for round {number}")
                break
            for start in starts(size.mpis):
                order = Order(
                    list(start.runs), str(system.topology), files[0], files[1:], str(marker), str(work / "records")
                )
                launch, variables = _launch(start, hosts, size.n_ranks_per_host)
                command = [*launch, "-m", "mdreel_lab.bench.interference.ranks", order.to_json()]
                run_process(command, child_environment(work / "cache", variables=variables), _LIMIT)
                found = read_json(Path(order.output))
                records += [{"round": number, **record} for record in found]
                seconds = sum(record["seconds"] for record in found)
                log(f"round {number}, {start.mpi}, {start.network} link: {len(found)} runs, {seconds:.1f} s")
    return {"environment": environment, "size": _size_facts(size), "records": records}


def _split(trajectory: Path, n_parts: int) -> list[Path]:
    """Return a file for each rank, which the first call writes."""
    from mdreel.trajectory.split import split

    folder = trajectory.with_name(f"{trajectory.stem}-xtc-in-{n_parts}")
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=trajectory.parent) as made:
            parts = Path(made, "parts")
            parts.mkdir()
            split(trajectory, parts / "part.xtc", n_parts=n_parts)
            parts.rename(folder)
    return sorted(folder.glob("part-*.xtc"))


def _copied(host: Host, paths: Sequence[Path], mounted: Path) -> list[str]:
    """Copy files to the file system of the hosts, and return their paths there."""
    host.run("cp", "--preserve=timestamps", *paths, mounted, check=True)
    return [str(mounted / path.name) for path in paths]


def _write_load(host: Host, path: Path) -> None:
    host.run("dd", "if=/dev/urandom", f"of={path}", "bs=1M", f"count={_LOAD_BYTES >> 20}", check=True)


@contextmanager
def _loaded(host: Host, marker: Path, path: Path) -> Iterator[None]:
    """Run another job on a host, which reads a file while the marker exists."""
    command = host.command(sys.executable, "-m", "mdreel_lab.bench.interference.load", marker, path)
    with subprocess.Popen(command, env=child_environment(marker.parent / "cache")) as process:
        try:
            yield
        finally:
            end(process)


def _launch(start: Start, hosts: Sequence[Host], n_ranks_per_host: int) -> tuple[list[str], dict[str, str]]:
    """Return the command that starts an interpreter on all ranks, and variables of its environment."""
    interface = "eth0" if start.network == SHARED else "eth1"
    places = ",".join(f"{host.name}:{n_ranks_per_host}" for host in hosts)
    ranks = ("-n", str(len(hosts) * n_ranks_per_host))
    shell, beside = str(hosts[0].remote_shell), Path(sys.executable).parent
    variables = {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "TMPDIR": str(hosts[0].remote_shell.parent),  # Open MPI names folders by host
        # UCX would use shared memory between hosts that have one kernel.
        "UCX_TLS": "tcp,self",
        "UCX_NET_DEVICES": interface,
    }
    if start.mpi == MPICH:
        launcher, python = beside / "mpiexec", Path(sys.executable)
        options = ["-launcher", "ssh", "-launcher-exec", shell, "-iface", interface, "-hosts", places]
    else:
        found = shutil.which("mpirun.openmpi")
        launcher, python = Path(found or "mpirun.openmpi"), beside / "python-global-arrays"
        parameters = {
            "plm_rsh_agent": shell,
            "oob_tcp_if_include": interface,
            # Its other one-sided communication does not work on several hosts with threads.
            "pml": "ucx",
            "osc": "ucx",
            "opal_common_ucx_tls": "any",
            "opal_common_ucx_devices": "any",
            "mpi_yield_when_idle": "1",
        }
        options = ["--oversubscribe", "--bind-to", "none", "--host", places]
        variables |= {f"OMPI_MCA_{name}": value for name, value in parameters.items()}
        variables |= dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")
    for program in (launcher, python):
        if not program.exists():
            raise UnsupportedError(f"there is no {program} for {start.mpi}; ./task extras builds Global Arrays")
    return hosts[0].command(launcher, *options, *ranks, python), variables


def _size_facts(size: Size) -> dict[str, Any]:
    return {
        "n_frames": size.n_frames,
        "n_hosts": len(_NAMES),
        "n_ranks": size.n_ranks,
        "n_rounds": size.n_rounds,
        "link_bytes_per_s": size.limit.bytes_per_s,
        "queue_bytes": size.limit.queue_bytes,
    }
