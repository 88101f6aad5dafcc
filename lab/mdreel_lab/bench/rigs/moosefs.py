"""MooseFS: a file system of several hosts, started on hosts of this machine, and ended with them."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep

from mdreel.errors import UnsupportedError
from mdreel_lab.bench.rigs.hosts import Host

N_CHUNK_SERVERS = 2

_PACKAGES = "moosefs-master, moosefs-chunkserver, moosefs-client"
_PROGRAMS = ("mfsmaster", "mfschunkserver", "mfsmount", "mfssetgoal", "mfssettrashtime")
_DEVICE = Path("/dev/fuse")
_FIRST_PORT = 9422
_READY_SECONDS = 30.0
_LOOK_AGAIN_SECONDS = 0.05

_EVERY_SERVER = """\
WORKING_USER = root
WORKING_GROUP = root
NICE_LEVEL = 0
DISABLE_OOM_KILLER = 0
DATA_PATH = {folder}
"""

# The master looks for chunks to remove as often as the settings allow.
_MASTER = """\
EXPORTS_FILENAME = {folder}/exports
TOPOLOGY_FILENAME = {folder}/topology
MATOML_LISTEN_HOST = {address}
MATOCS_LISTEN_HOST = {address}
MATOCL_LISTEN_HOST = {address}
OPERATIONS_DELAY_INIT = 0
CHUNKS_LOOP_MIN_TIME = 60
"""

_CHUNK_SERVER = """\
HDD_CONF_FILENAME = {folder}/disks
HDD_LEAVE_SPACE_DEFAULT = 64MiB
BIND_HOST = {address}
MASTER_HOST = {address}
CSSERV_LISTEN_HOST = {address}
CSSERV_LISTEN_PORT = {port}
"""

_NO_FILES = "MFSM NEW"
"""Metadata file of a master without files."""


def why_there_is_none() -> str | None:
    """Return the reason why no MooseFS can be started on hosts here, or None if it can."""
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"MooseFS needs {', '.join(missing)} (Debian: {_PACKAGES})"
    if not _DEVICE.exists():
        return f"MooseFS is mounted by FUSE, and there is no {_DEVICE}"
    return None if os.geteuid() == 0 else "only root can start a MooseFS and mount it"


def start_moosefs(servers: Host, clients: Sequence[Host], folder: Path, state: Path) -> str:
    """Start a master and chunk servers on a host, and have clients mount their file system; return version and numbers.

    The address of the servers must not be that of a loopback: masters refuse such chunk servers. The folder, where
    clients mount it, and that of the servers' state are empty; the latter is in use until the hosts have ended. Servers
    and mounts end with their hosts, however these end. There is one copy of each file. Removed files are deleted at
    once: by default MooseFS keeps them for a day.

    Raise an `UnsupportedError` if it cannot be started.
    """
    if problem := why_there_is_none():
        raise UnsupportedError(problem)
    own = state / "master"
    files = {"metadata.mfs": _NO_FILES, "exports": "* / rw,alldirs,maproot=0\n"}
    _serve(servers, "mfsmaster", own, _MASTER.format(folder=own, address=servers.address), files)
    for number in range(N_CHUNK_SERVERS):
        own = state / f"chunks-{number}"
        (own / "disk").mkdir(parents=True)
        settings = _CHUNK_SERVER.format(folder=own, address=servers.address, port=_FIRST_PORT + number)
        _serve(servers, "mfschunkserver", own, settings, {"disks": f"{own}/disk\n"})
    for client in clients:
        _do(client, "mfsmount", str(folder), "-n", "-H", servers.address, "-o", "mfsnice=0,mfsallowoomkiller")
    _await_space(clients[0], folder)
    _do(clients[0], "mfssetgoal", "1", str(folder))
    _do(clients[0], "mfssettrashtime", "0", str(folder))
    said = servers.run("mfsmaster", "-v")
    version = re.search(r"\d+\.\d+\.\d+", said.stdout + said.stderr)
    return f"MooseFS {version[0] if version else 'of an unknown version'}, a master and {N_CHUNK_SERVERS} chunk servers"


def _serve(host: Host, program: str, folder: Path, settings: str, files: dict[str, str]) -> None:
    """Start a server, which returns when it serves, with files in a folder of its own."""
    folder.mkdir(exist_ok=True)
    for name, text in {"settings": _EVERY_SERVER.format(folder=folder) + settings, **files}.items():
        (folder / name).write_text(text)
    _do(host, program, "-c", str(folder / "settings"), "start")


def _await_space(client: Host, folder: Path) -> None:
    """Wait until a chunk server has told the master of its disk."""
    until = monotonic() + _READY_SECONDS
    while int(_do(client, "stat", "--file-system", "--format=%b", str(folder))) == 0:
        if monotonic() > until:
            raise UnsupportedError(f"MooseFS: no chunk server has come within {_READY_SECONDS:g} s")
        sleep(_LOOK_AGAIN_SECONDS)


def _do(host: Host, *words: str) -> str:
    """Run a command and return its output; raise an `UnsupportedError` if it fails."""
    done = host.run(*words)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise UnsupportedError(f"MooseFS: {words[0]}: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout
