"""A real Slurm on this machine: its own controller, nodes, key and ports, ended with the test that started it."""

import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from mdreel_lab.bench.rigs.hosts import Host

T = TypeVar("T")

BETWEEN_COMMANDS = 0.2
"""Time between two commands that ask Slurm for a state, s. Commands one after another would keep a processor busy."""

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "sinfo", "squeue", "scancel")

ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")

# How long a job may run: it shares a few cores, of any speed, with the other tests.
SECONDS_OF_A_JOB = 600.0

# Below those that systems give away by themselves, so that nobody takes one between its choice and its use.
PORTS = range(20_000, 30_000)

CONFIGURATION = """\
ClusterName=tests
SlurmctldHost={host}({address})
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A job that is queued again waits for as long as this: 5 s is the least that there is.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
# MPICH names shared memory by the job. What killed ranks have left of an earlier service must not be met again.
FirstJobId={first_job}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
# What needs nothing of the machine: no control groups, no accounting.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
{nodes}
PartitionName=compute Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def reason_to_skip() -> str:
    """Why Slurm cannot be started here; nothing if it can."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        packages = "apt-get install slurmctld slurmd slurm-client munge"
        return f"{', '.join(missing)} of Slurm not installed (Debian, Ubuntu: {packages})"
    return "" if os.geteuid() == 0 else "only root can start the daemons of Slurm"


class Slurm:
    """A Slurm that runs.

    Attributes
    ----------
    environment : dict of str to str
        The variables with which its commands find it.
    """

    def __init__(self, folder: Path, host: Host | None = None) -> None:
        self._folder = folder
        self._entrance = () if host is None else host.entrance
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def command(self, *words: str | Path, folder: Path | None = None) -> str:
        """Run one of its commands; return what it says."""
        words = (*self._entrance, *words)
        done = subprocess.run(words, cwd=folder, env=self.environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (words, done.stderr, self.logs())
        return done.stdout

    def submit(self, script: Path) -> str:
        """Submit a script from its folder; return the number of the job."""
        return self.command("sbatch", "--parsable", script, folder=script.parent).strip()

    def facts(self, job: str) -> dict[str, str]:
        """What Slurm knows of a job."""
        words = self.command("scontrol", "--oneliner", "show", "job", job).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def wait_for_end(self, job: str) -> str:
        """Wait until a job has ended; return its state."""
        return self.wait_for_state(job, *ENDED, seconds=SECONDS_OF_A_JOB)

    def wait_for_state(self, job: str, *states: str, seconds: float = 60.0) -> str:
        """Wait until a job is in one of these states; return it."""

        def found() -> str | None:
            state = self.facts(job)["JobState"]
            return state if state in states else None

        return wait_for(found, f"job {job} in {states}", self.logs, seconds, BETWEEN_COMMANDS)

    def kill_step(self, job: str, step: int) -> str:
        """Kill what runs in a step of a job, until the job has ended; return its state."""

        def found() -> str | None:
            state = self.facts(job)["JobState"]
            if state not in {"RUNNING", "COMPLETING"}:
                return state
            # Slurm was seen to lose a signal. A step that has ended meanwhile is no error.
            words = [*self._entrance, "scancel", "--signal=KILL", f"{job}.{step}"]
            subprocess.run(words, env=self.environment, capture_output=True, timeout=60)
            return None

        return wait_for(found, f"the end of job {job}", self.logs, pause=BETWEEN_COMMANDS)

    def wait_for_nodes(self, n_nodes: int) -> None:
        """Wait until all nodes are there."""

        def ready() -> bool:
            words = [*self._entrance, "sinfo", "--noheader", "--Node", "--format=%T"]
            done = subprocess.run(words, env=self.environment, capture_output=True, text=True)
            return done.stdout.split() == n_nodes * ["idle"]

        wait_for(ready, f"{n_nodes} nodes", self.logs, pause=BETWEEN_COMMANDS)

    def end_jobs(self) -> None:
        """End all jobs, and wait for that."""
        # One that has ended meanwhile is no error.
        words = [*self._entrance, "scancel", "--user", "root"]
        subprocess.run(words, env=self.environment, capture_output=True, timeout=60)
        wait_for(lambda: not self.command("squeue", "--noheader").strip(), "no jobs", self.logs, pause=BETWEEN_COMMANDS)

    def logs(self) -> str:
        """What the daemons say."""
        return "\n".join(f"{path.name}: {path.read_text()[-2000:]}" for path in sorted(self._folder.glob("*.log")))


def wait_for(
    find: Callable[[], T], what: str, explain: Callable[[], str], seconds: float = 60.0, pause: float = 0.02
) -> T:
    """Ask until there is an answer, with a pause, s, between two questions; return it."""
    end = time.monotonic() + seconds
    while not (found := find()):
        assert time.monotonic() < end, f"waited for {what}\n{explain()}"
        time.sleep(pause)
    return found


@contextmanager
def running_slurm(folder: Path, n_nodes: int, hosts: Sequence[Host] = ()) -> Iterator[Slurm]:
    """Start a Slurm of a few nodes, all of them this machine, or each a host with a network of its own; end it.

    Commands are started on the first host.
    """
    names = [host.name for host in hosts] or [f"n{number}" for number in range(1, n_nodes + 1)]
    entrances = [host.entrance for host in hosts] or n_nodes * [()]
    addresses = [host.address for host in hosts] or n_nodes * ["127.0.0.1"]
    controller = hosts[0].name if hosts else socket.gethostname()
    for name in ("state", *names):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.touch(0o600)
    key.write_bytes(random.randbytes(128))
    controller_port, *ports = _free_ports(n_nodes + 1)
    nodes = [
        f"NodeName={name} NodeHostname={name if hosts else 'localhost'} NodeAddr={address} Port={port} CPUs=4 "
        "RealMemory=100000"
        for name, address, port in zip(names, addresses, ports, strict=True)
    ]
    configuration = folder / "slurm.conf"
    facts = {"host": controller, "address": addresses[0], "folder": folder, "controller_port": controller_port}
    facts["first_job"] = random.randrange(1_000, 60_000_000)
    configuration.write_text(CONFIGURATION.format(nodes="\n".join(nodes), **facts))
    if hosts:  # which have no control groups, so that Slurm cannot look for their version
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    munge_files = [f"--{name}={folder}/munge.{name.split('-')[0]}" for name in ("socket", "pid-file", "log-file")]
    munge = ["munged", "--foreground", "--force", f"--key-file={key}", f"--seed-file={folder}/seed", *munge_files]
    with ExitStack() as daemons:
        daemons.enter_context(_daemon([*entrances[0], *munge]))
        wait_for((folder / "munge.socket").exists, "munged", lambda: "")
        daemons.enter_context(_daemon([*entrances[0], "slurmctld", "-D", "-f", str(configuration)]))
        for name, entrance in zip(names, entrances, strict=True):
            daemons.enter_context(_daemon([*entrance, "slurmd", "-D", "-N", name, "-f", str(configuration)]))
        slurm = Slurm(folder, hosts[0] if hosts else None)
        slurm.wait_for_nodes(n_nodes)
        try:
            yield slurm
        finally:
            slurm.end_jobs()


@contextmanager
def _daemon(words: list[str]) -> Iterator[None]:
    """Run a daemon in the foreground; its log is a file."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as it:
        try:
            yield
        finally:
            it.terminate()
            try:
                it.wait(20)
            except subprocess.TimeoutExpired:
                it.kill()


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    with ExitStack() as taken:
        found: list[int] = []
        while len(found) < count:
            probe = taken.enter_context(socket.socket())
            port = random.choice(PORTS)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
        return found
