"""DYAD: a Flux broker on each host of a benchmark, with DYAD's module and a managed directory for each broker."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep

from mdreel.errors import UnsupportedError
from mdreel_lab.bench.rigs.hosts import Host

PRODUCED, CONSUMED = "DYAD_PATH_PRODUCER", "DYAD_PATH_CONSUMER"
MODULE = "DYAD_MODULE"
"""Environment variables: the managed directories of producers and consumers, and the file of DYAD's Flux module."""

_NAMESPACE = "mdreel"
_TRANSPORT = "FLUX_RPC"
_PORT = 8_150
_READY_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.1

_BROKERS = """\
[bootstrap]
curve_cert = "{folder}/curve.cert"
hosts = [
{hosts}]
"""


def is_running() -> bool:
    """Return whether the environment names a DYAD service that is already running, as in a job of Flux."""
    return PRODUCED in os.environ and CONSUMED in os.environ


def why_there_is_none() -> str | None:
    """Return the reason why DYAD cannot be started here, or None if it can."""
    if find_spec("pydyad") is None:
        return "DYAD is not installed: there is no Python package pydyad"
    if is_running():
        return None
    if shutil.which("flux") is None:
        return "DYAD needs Flux, and the program flux was not found"
    module = os.environ.get(MODULE, "")
    return None if Path(module).is_file() else f"DYAD's Flux module was not found: {MODULE} names the file dyad.so"


def dyad_versions() -> dict[str, str]:
    """Return the versions of Flux and of DYAD's Python package; without those that are unknown."""
    found = {}
    with suppress(PackageNotFoundError):
        found["pydyad"] = version("pydyad")
    if shutil.which("flux"):
        said = subprocess.run(["flux", "--version"], capture_output=True, text=True).stdout
        if number := re.search(r"libflux-core:\s*(\S+)", said):
            found["flux-core"] = number[1]
    return found


@dataclass(frozen=True)
class _Broker:
    """A broker of Flux on a host, with the folder of its socket and the managed directory of its host."""

    host: Host
    folder: Path
    managed: Path

    @property
    def uri(self) -> str:
        """The address at which processes on its host reach it."""
        return f"local://{self.folder}/socket"

    def command(self, *words: str) -> list[str]:
        """Return the command that runs a command of Flux on its host."""
        return self.host.command("env", f"FLUX_URI={self.uri}", "flux", *words)

    def run(self, *words: str) -> None:
        """Run a command of Flux; raise an `UnsupportedError` if it fails."""
        done = subprocess.run(
            self.command(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_READY_SECONDS
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise UnsupportedError(f"DYAD: flux {words[0]}: {said[-1] if said else f'exit code {done.returncode}'}")

    @property
    def entrance(self) -> tuple[str, ...]:
        """The command that runs another one on its host, where DYAD finds the broker and the managed directory."""
        variables = {
            "FLUX_URI": self.uri,
            PRODUCED: self.managed,
            CONSUMED: self.managed,
            "DYAD_KVS_NAMESPACE": _NAMESPACE,
            "DYAD_DTL_MODE": _TRANSPORT,
        }
        return (*self.host.entrance, "env", *(f"{name}={value}" for name, value in variables.items()))


@contextmanager
def dyad_on(hosts: Sequence[Host], folder: Path, managed: Path) -> Iterator[list[tuple[str, ...]]]:
    """Start DYAD on hosts; yield for each host the command that runs another one where DYAD finds its service.

    All hosts see both folders. The brokers end with the context.

    Parameters
    ----------
    hosts : sequence of Host
        The hosts; one broker runs on each.
    folder : Path
        An empty folder for sockets, which need short paths.
    managed : Path
        An empty folder, in which each host gets its own managed directory.

    Raises
    ------
    UnsupportedError
        If DYAD cannot be started.
    """
    if problem := why_there_is_none():
        raise UnsupportedError(problem)
    brokers = [_Broker(host, folder / str(rank), managed / str(rank)) for rank, host in enumerate(hosts)]
    options = _bootstrap(hosts, folder) if len(hosts) > 1 else []
    ready = folder / "ready"
    # Only the first rank runs this program, when all brokers have joined. It ends with the pipe from here.
    program = ("sh", "-c", f"touch {shlex.quote(str(ready))}; exec cat")
    started: list[subprocess.Popen[bytes]] = []
    try:
        for broker in brokers:
            broker.folder.mkdir()
            broker.managed.mkdir()
            own = (f"-Srundir={broker.folder}", f"-Sstatedir={broker.folder}", f"-Slocal-uri={broker.uri}")
            with (broker.folder / "log").open("wb") as log:
                command = broker.host.command("env", "-u", "FLUX_URI", "flux", "broker", *own, *options, *program)
                started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log))
        _await(ready, brokers, started)
        brokers[0].run("kvs", "namespace", "create", _NAMESPACE)
        for broker in brokers:
            words = ("module", "load", os.environ[MODULE], f"--mode={_TRANSPORT}", str(broker.managed))
            broker.run(*words)
        yield [broker.entrance for broker in brokers]
    finally:
        for process in started:
            if process.stdin is not None:
                process.stdin.close()
        for process in started:
            try:
                process.wait(_READY_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _bootstrap(hosts: Sequence[Host], folder: Path) -> list[str]:
    """Write the settings by which brokers find each other; return the options that name them."""
    places = [(host.name, f"tcp://{host.address}:{_PORT}") for host in hosts]
    lines = "".join(f'    {{ host = "{name}", bind = "{at}", connect = "{at}" }},\n' for name, at in places)
    settings = folder / "settings"
    settings.mkdir()
    (settings / "system.toml").write_text(_BROKERS.format(folder=folder, hosts=lines), encoding="utf-8")
    done = subprocess.run(["flux", "keygen", str(folder / "curve.cert")], capture_output=True, text=True)
    if done.returncode:
        raise UnsupportedError(f"DYAD: flux keygen: {done.stderr.strip()}")
    return [f"--config-path={settings}"]


def _await(ready: Path, brokers: Sequence[_Broker], started: Sequence[subprocess.Popen[bytes]]) -> None:
    """Wait until all brokers have joined; raise an `UnsupportedError` if one has ended, or they have not in time."""
    until = monotonic() + _READY_SECONDS
    while not ready.exists():
        ended = [process.poll() is not None for process in started]
        if any(ended) or monotonic() > until:
            broker = brokers[ended.index(True) if any(ended) else 0]
            said = (broker.folder / "log").read_text(errors="replace").strip().splitlines()
            raise UnsupportedError(f"DYAD: the broker of {broker.host.name}: {said[-1] if said else 'no answer'}")
        sleep(_LOOK_AGAIN_SECONDS)
