"""Hosts and cores for the points of analyses: this machine, named hosts, or a job of Slurm."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.available_cores import available_processors
from mdreel_lab.bench.exchange.nodes import HOST, launcher_words
from mdreel_lab.bench.placement import HostCores, places_text, spread

N_RANKS = "{n}"
"""Placeholder for the number of ranks in the command of a launcher of ranks."""

_PLACEHOLDERS = (N_RANKS, "{hosts}", "{nodes}", "{places}", "{per-node}")
_ON_SCHEDULER = (("mdreel", "dask"), ("dask", "distributed"), ("published", "distributed"))
"""Programs and executors whose points use the workers of a running Dask cluster."""

_HERE_PER_CORE, _ELSEWHERE_PER_CORE = 4, 1
_PATIENCE = 120.0


@dataclass(frozen=True)
class Allocation:
    """Hosts, cores and launchers for points of analyses; by default those of this machine.

    Attributes
    ----------
    hosts : tuple of HostCores
        The hosts for MPI ranks; none for this machine.
    launcher : tuple of str
        Words of a command that runs a command on the host ``{host}``; none if the MPI library reaches the hosts.
    ranks : tuple of str
        Words of a command that starts ``{n}`` ranks; none to use the MPI library of the interpreter.
    scheduler : str or None
        Address of a Dask scheduler; None to start a cluster on this machine for each point.
    threads : tuple of HostCores
        Number of threads of the workers of this scheduler on each host.
    per_core : int
        Largest number of workers per core.
    said : str
        Where the hosts are from.
    """

    hosts: tuple[HostCores, ...] = ()
    launcher: tuple[str, ...] = ()
    ranks: tuple[str, ...] = ()
    scheduler: str | None = None
    threads: tuple[HostCores, ...] = ()
    per_core: int = _HERE_PER_CORE
    said: str = "this machine"

    def n_cores(self, program: str, executor: str) -> int:
        """Return the number of cores for the workers of an executor of a program."""
        if executor == "mpi" and self.hosts:
            return sum(host.n_cores for host in self.hosts)
        if self.uses_scheduler(program, executor):
            return sum(host.n_cores for host in self.threads)
        return available_processors()

    def uses_scheduler(self, program: str, executor: str) -> bool:
        """Return whether an executor of a program uses the workers of the Dask scheduler."""
        return self.scheduler is not None and (program, executor) in _ON_SCHEDULER

    def command_on_ranks(self, n_ranks: int) -> tuple[str, ...]:
        """Return the command of the user that starts ranks, with its placeholders filled in."""
        places = spread(self.hosts, n_ranks)
        values = {
            N_RANKS: str(n_ranks),
            "{hosts}": ",".join(places),
            "{nodes}": str(max(len(places), 1)),
            "{places}": places_text(places),
            "{per-node}": str(max(places.values(), default=n_ranks)),
        }
        return tuple(_filled(word, values) for word in self.ranks)


def allocation_of(
    hosts: Sequence[str] = (),
    launcher: str | None = None,
    ranks: str | None = None,
    n_cores: int | None = None,
    per_core: int | None = None,
    scheduler: str | None = None,
    variables: Mapping[str, str] = os.environ,
) -> Allocation:
    """Return the hosts and cores that the command line names, or those of a job of Slurm, or this machine.

    Parameters
    ----------
    hosts : sequence of str
        Names, or ``NAME=ADDRESS`` as for the exchange of frames.
    launcher : str, optional
        Command that runs a command on the host ``{host}``.
    ranks : str, optional
        Command that starts ``{n}`` ranks.
    n_cores : int, optional
        Number of cores of each host. By default, Slurm or each host itself reports it.
    per_core : int, optional
        Largest number of workers per core. The default is 4 on this machine, and 1 on other hosts.
    scheduler : str, optional
        Address of a Dask scheduler.
    variables : mapping of str to str
        The environment variables.

    Raises
    ------
    MismatchError
        If a launcher lacks its placeholder or its program, or if a host or the Dask scheduler does not answer.
    UnsupportedError
        If the hosts of a Slurm job cannot be listed.
    """
    words = () if launcher is None else launcher_words(launcher)
    of_ranks = () if ranks is None else _checked_ranks(ranks)
    elsewhere = _ELSEWHERE_PER_CORE if per_core is None else per_core
    base = Allocation(ranks=of_ranks, scheduler=scheduler, threads=_threads_of(scheduler))
    if hosts:
        names = [host.partition("=")[0] for host in hosts]
        if len(set(names)) < len(names):
            raise MismatchError(f"--hosts names {next(one for one in names if names.count(one) > 1)} twice")
        found = tuple(HostCores(name, n_cores or cores_of(words, name)) for name in names)
        return replace(base, hosts=found, launcher=words, per_core=elsewhere, said="--hosts")
    if "SLURM_JOB_ID" in variables and "SLURM_JOB_NODELIST" in variables:
        found = slurm_hosts(variables, n_cores)
        said = f"job {variables['SLURM_JOB_ID']} of Slurm"
        return replace(base, hosts=found, per_core=elsewhere, said=said)
    return replace(base, per_core=_HERE_PER_CORE if per_core is None else per_core)


def slurm_hosts(variables: Mapping[str, str], n_cores: int | None = None) -> tuple[HostCores, ...]:
    """Return the nodes of a Slurm job with the numbers of their CPUs, or with the given number."""
    nodes = variables["SLURM_JOB_NODELIST"]
    if shutil.which("scontrol") is None:
        raise UnsupportedError(f"the nodes {nodes} of the Slurm job are listed with scontrol, which is not installed")
    done = subprocess.run(["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=False)
    names = done.stdout.split()
    if done.returncode or not names:
        raise UnsupportedError(f"scontrol cannot list the nodes {nodes}: {done.stderr.strip()}")
    counts = len(names) * [n_cores] if n_cores else cpus_per_node(variables.get("SLURM_JOB_CPUS_PER_NODE", ""))
    if len(counts) != len(names):
        said = variables.get("SLURM_JOB_CPUS_PER_NODE")
        raise UnsupportedError(
            f"SLURM_JOB_CPUS_PER_NODE is {said!r}, but the job has {len(names)} nodes: give --cores-per-host"
        )
    return tuple(HostCores(name, count or 1) for name, count in zip(names, counts, strict=True))


def cpus_per_node(text: str) -> list[int]:
    """Return the number of CPUs of each node from Slurm's notation, such as ``24(x2),12``."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if match is None:
            return []
        found += int(match[2] or 1) * [int(match[1])]
    return found


def cores_of(launcher: Sequence[str], name: str) -> int:
    """Ask a host for its number of cores; raise a `MismatchError` if it does not answer."""
    command = [*(word.replace(HOST, name) for word in launcher), "nproc"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MismatchError(f"--launcher does not reach {name}: {error}") from error
    answer = done.stdout.split()
    if done.returncode or not answer or not answer[-1].isdecimal():
        said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise MismatchError(f"--launcher does not reach {name}: {said}")
    return int(answer[-1])


def _threads_of(scheduler: str | None) -> tuple[HostCores, ...]:
    if scheduler is None:
        return ()
    if find_spec("distributed") is None:
        raise MismatchError("--scheduler needs the package distributed: pip install 'mdreel[dask]'")
    from mdreel_lab.bench.dask_workers import threads_of

    return threads_of(scheduler)


def _checked_ranks(text: str) -> tuple[str, ...]:
    words = tuple(shlex.split(text))
    if N_RANKS not in text:
        raise MismatchError(f"--mpi-launcher {text!r}: expected {N_RANKS} in it, for which the number of ranks is put")
    unknown = [one for one in re.findall(r"\{[\w-]*\}", text) if one not in _PLACEHOLDERS]
    if unknown:
        raise MismatchError(f"--mpi-launcher: {unknown[0]} is not one of {', '.join(_PLACEHOLDERS)}")
    if shutil.which(words[0]) is None:
        raise MismatchError(f"--mpi-launcher: {words[0]} was not found")
    return words


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word
