"""Tests of what the process of the page loads, which decides about its memory."""

import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from growing_file import N_ATOMS
from mdreel.live.producers.producer import Producer
from publishing import publish
from told_notices import Series, Told

HEAVY = ("numpy", "MDAnalysis", "mdreel._core", "scipy", "matplotlib", "pandas", "pyarrow", "rich", "zenoh", "openmm")
HEAVY += ("asyncio", "multiprocessing", "concurrent", "aiohttp", "websockets", "dask", "mpi4py")
HEAVY += ("mdreel.live.engines", "mdreel.live.nodes", "mdreel.live.producers", "mdreel.live.channels.consumer")
HEAVY += ("mdreel.analysis.base", "mdreel.results", "mdreel.timing", "mdreel.trajectory")
RESOURCES = ("/", "/state", "/state?open={channel}", "/metrics", "/comparison?analysis=RMSD&column=value_0")


@contextmanager
def watching(imports: Path, *options: str) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    """Start a server that lists what it imports. Yield its process and the URL of the page."""
    command = [sys.executable, "-X", "importtime", "-m", "mdreel.cli", "watch", "--web", "--interval", "0.1", *options]
    with (
        imports.open("w") as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().split()[0]
        finally:
            process.kill()


def fetch(url: str, resource: str) -> bytes:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
    token = place.query.partition("=")[2]
    connection.request("GET", resource, headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    assert answer.status == 200, (resource, content)
    return content


def loaded(imports: Path) -> set[str]:
    """Return the modules that the process has imported so far."""
    lines = imports.read_text().splitlines()
    return {found[1] for line in lines if (found := re.fullmatch(r"import time:\s+\d+ \|\s+\d+ \|\s+(\S+)", line))}


def heavy(modules: set[str]) -> list[str]:
    return sorted(module for module in modules if any(module == one or module.startswith(f"{one}.") for one in HEAVY))


@pytest.mark.parametrize("options", [(), ("--operate", "--alert", "RMSD:value_0>0.5")])
def test_server_of_the_page_loads_no_heavy_module(folder: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    with Producer("run1", N_ATOMS, n_slots=8) as producer:
        publish(producer, 0)
        told = Told(folder / "run1", Series())
        told.say(n_frames=3000)
        with watching(tmp_path / "imports", *options) as (process, url):
            for _ in range(3):
                told.say(n_frames=10)
                for resource in RESOURCES:
                    content = fetch(url, resource.format(channel=quote(str(folder / "run1"))))
            state = json.loads(fetch(url, f"/state?open={quote(str(folder / 'run1'))}"))
            (channel,) = state["channels"]
            (analysis,) = channel["analyses"]
            assert len(analysis["curves"][2]) > 300, "the server has read the rows"
            assert len(json.loads(content)["series"][0]["values"]) == 300
            libraries = Path(f"/proc/{process.pid}/maps").read_text()
            process.send_signal(signal.SIGINT)
            process.wait(30)
    modules = loaded(tmp_path / "imports")
    assert "mdreel.live.watch.server" in modules, "the test has found the imports"
    assert heavy(modules) == []
    assert "/_core.abi3.so" in libraries, "the test has found the libraries"
    assert not re.search(r"/numpy|openblas", libraries)


def test_download_is_what_loads_numpy(folder: Path, tmp_path: Path) -> None:
    """Check that the test above would find NumPy."""
    with Producer("run1", N_ATOMS, n_slots=8) as producer:
        publish(producer, 0)
        told = Told(folder / "run1", Series())
        told.say(n_frames=30)
        with watching(tmp_path / "imports") as (process, url):
            wanted = f"/results?channel={quote(str(folder / 'run1'))}&analysis={told.path.stem}&format=csv"
            assert fetch(url, wanted).count(b"\n") > 30
            libraries = Path(f"/proc/{process.pid}/maps").read_text()
            process.send_signal(signal.SIGINT)
            process.wait(30)
    assert {"numpy", "mdreel.results"} <= set(heavy(loaded(tmp_path / "imports")))
    assert re.search("/numpy", libraries)
