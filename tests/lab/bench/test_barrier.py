"""Two processes of a benchmark meet each other, and nobody else."""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import pytest

from mdreel_lab.bench.exchange.barrier import Barrier
from mdreel_lab.bench.exchange.work import Work

LONG = 60.0


@pytest.fixture
def work(tmp_path: Path) -> Work:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    place = str(tmp_path)
    return Work("files", "barrier", "JAC", 1, 0.0, 0.0, place, place, place, "127.0.0.1", port, False)


def test_barrier_takes_nobody_but_its_partner(work: Work) -> None:
    with ThreadPoolExecutor() as threads:
        listening = threads.submit(Barrier, work, listens=True)
        for said in (b"", b"x" * 32, b"x" * 5):
            stranger = _connected(work)
            stranger.sendall(said)
            stranger.shutdown(socket.SHUT_WR)
            assert stranger.recv(1) == b"", "it is sent away"
            stranger.close()
        assert not listening.done()
        with Barrier(work, listens=False) as partner, listening.result(LONG) as other:
            waits = [threads.submit(each.wait) for each in (partner, other)]
            for each in waits:
                each.result(LONG)
    token = work.folder / "barrier.token"
    assert token.stat().st_mode & 0o7777 == 0o600


def _connected(work: Work) -> socket.socket:
    """Connect as soon as somebody listens."""
    until = monotonic() + LONG
    while True:
        try:
            return socket.create_connection((work.address, work.port), LONG)
        except ConnectionRefusedError:
            assert monotonic() < until, "nobody listens"
