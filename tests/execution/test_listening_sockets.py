"""What other users of the machine can reach while an analysis runs."""

import gc
import http.client
import os
import socket
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mdreel
from listening_sockets import Listening, listening_sockets, processes_of
from mdreel._core import FrameSet, Pass, rmsd
from mdreel.errors import UnsupportedError
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.resolve_executor import EXECUTORS, executor_class
from mdreel.execution.job import Job
from mdreel.execution.pipeline import run
from mdreel.trajectory.open import open as open_trajectory

ATOMS = np.arange(0, 3341, 11, dtype=np.uint32)
FRAMES = FrameSet.list(np.tile(np.arange(98, dtype=np.uint64), 300))
"""So many that progress is told of while they are read."""


def run_with(executor: Executor, trajectory: Path, look: Callable[[], None]) -> None:
    """Run an analysis, and look around while it runs."""
    source = open_trajectory(trajectory)
    reference = source.read(FrameSet.range(0, 1, 1), ATOMS).positions[0].astype(np.float64)
    looked: list[int] = []

    def heard(n_frames: int) -> None:
        if not looked:
            looked.append(n_frames)
            look()

    job = Job(source, ATOMS, Pass.of(rmsd(reference, None, True)))
    executor.share(lambda: run(job, FRAMES, executor, n_parts=60, on_progress=heard))
    assert looked


# Under MPI the library and its launcher open the sockets, and mdreel opens none.
@pytest.mark.parametrize("name", sorted({*EXECUTORS} - {"mpi"}))
def test_executor_listens_on_nothing_that_other_users_can_command(name: str, adk_xtc: Path) -> None:
    before = {(one.pid, one.kind, one.port) for one in listening_sockets(os.getpid())}
    found: list[tuple[Listening, str]] = []

    def look() -> None:
        new = [one for one in listening_sockets(os.getpid()) if (one.pid, one.kind, one.port) not in before]
        found.extend((one, protocol_of(one)) for one in new)

    options = () if name == "serial" else (2,)
    run_with(executor_class(name)(*options), adk_xtc, look)
    assert all(one.is_loopback for one, _ in found), found
    # Dask: the scheduler, two workers and their nannies; all but the nannies have an HTTP server.
    expected = [*["HTTP without pages"] * 3, *["TLS with certificates"] * 5] if name == "dask" else []
    assert sorted(protocol for _, protocol in found) == expected


def protocol_of(one: Listening) -> str:
    """Say what a socket speaks with somebody who has no certificate."""
    if one.kind == "unix":
        return "anything"
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{one.port}/status", timeout=30) as answer:
            return f"HTTP {answer.status}"
    except urllib.error.HTTPError as error:
        error.close()
        return "HTTP without pages" if error.code == 404 else f"HTTP {error.code}"
    except (OSError, http.client.HTTPException):
        return "TLS with certificates" if answers_in_tls(one.port) else "anything"


def answers_in_tls(port: int) -> bool:
    """Whether a port speaks TLS, as far as it does so with those who have no certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=60) as connection,
            context.wrap_socket(connection) as encrypted,
        ):
            encrypted.recv(1)
    except ssl.SSLError as error:
        return "CERTIFICATE_REQUIRED" in str(error)
    except OSError:
        return False
    return False


def strangers_answers(address: str) -> list[str]:
    """Connect to a scheduler as another user of the machine would, and have it run code."""
    from distributed import Client, Security

    place = address.partition("://")[2]
    ways = (("tcp", None), ("tls", Security(require_encryption=True)), ("tls", Security.temporary()))
    said = []
    for protocol, security in ways:
        try:
            with Client(f"{protocol}://{place}", security=security, timeout="5s", set_as_default=False) as client:
                said.append(f"process {client.submit(os.getpid).result(timeout=60)} has run it")
        except (OSError, TimeoutError, ValueError, TypeError):
            said.append("refused")
        gc.collect()  # destroys the client: see `client_of`
    return said


def test_dask_cluster_of_a_run_refuses_code_of_other_users(adk_xtc: Path) -> None:
    from distributed import LocalCluster

    answers: list[str] = []

    def attack() -> None:
        (cluster,) = (one for one in LocalCluster._instances if one.status.name == "running")
        answers.extend(strangers_answers(cluster.scheduler_address))

    run_with(mdreel.Dask(2), adk_xtc, attack)
    assert answers == ["refused"] * 3


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "tls://127.0.0.1:9", "127.0.0.1", "unknown://host:1"])
def test_client_that_could_not_connect_is_destroyed_at_once(
    address: str, adk_xtc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client

    def clients() -> set[int]:
        return {id(one) for one in gc.get_objects() if type(one) is Client}

    before = clients()
    monkeypatch.setattr("mdreel.execution.executors.dask.cluster.START_SECONDS", 4.0)
    with pytest.raises(UnsupportedError, match=f"cannot connect to a Dask scheduler at {address}: "):
        run_with(mdreel.Dask(client=address), adk_xtc, lambda: None)
    # A later collection would call the destructor in any thread, even in one that starts a client.
    assert clients() <= before


def test_dask_cluster_of_a_run_keeps_its_credentials_in_memory(adk_xtc: Path) -> None:
    seen: list[str] = []

    def look() -> None:
        for pid in processes_of(os.getpid()):
            folder = Path(f"/proc/{pid}")
            seen.extend((folder / name).read_text(errors="replace") for name in ("cmdline", "environ"))

    run_with(mdreel.Dask(2), adk_xtc, look)
    assert len(seen) > 4
    assert not any("PRIVATE KEY" in text or "BEGIN CERTIFICATE" in text for text in seen)


def test_dask_says_what_is_missing_when_no_credentials_can_be_made(
    adk_xtc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(UnsupportedError, match=r"needs the package cryptography.*pip install 'mdreel\[dask\]'"):
        run_with(mdreel.Dask(2), adk_xtc, lambda: None)


def test_dask_uses_the_client_of_the_user_as_it_is(adk_xtc: Path) -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        before = [one.port for one in listening_sockets(os.getpid()) if one.pid == os.getpid()]
        during: list[int] = []
        run_with(
            mdreel.Dask(client=client),
            adk_xtc,
            lambda: during.extend(one.port for one in listening_sockets(os.getpid()) if one.pid == os.getpid()),
        )
        assert during == before
        assert client.scheduler.address == cluster.scheduler_address
        assert client.security is cluster.security
