"""Memory of `mdreel.read` and `iread`: the arrays that they return and little more, whatever the format."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mdreel._core import Source
from mdreel.trajectory import convert

# A DCD file has one interval for all frames, and the parts begin at 0 ps.
pytestmark = pytest.mark.filterwarnings("ignore:.*the file will have a frame every:mdreel.errors.MdreelWarning")

KINDS = ["xtc", "trr", "dcd", "nc", "h5md"]
N_ATOMS, N_FRAMES = 20_000, 700
EXTRA_BYTES = 64 << 20

PROBE = """\
import json, re, sys, threading
from pathlib import Path

import mdreel

def anonymous():
    # Pages of the file itself do not count: the system takes them back when it needs memory.
    return 1024 * int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

def sample():
    while not ended.wait(0.001):
        seen.append(anonymous())

kind, path, chunk = sys.argv[1:]
mdreel.read(path, stop=1)
before, seen, ended = anonymous(), [], threading.Event()
thread = threading.Thread(target=sample)
thread.start()
if kind == "read":
    n_bytes = mdreel.read(path, n_workers=2).positions.nbytes
else:
    n_bytes = max(chunk.positions.nbytes for chunk in mdreel.iread(path, chunk=int(chunk), n_workers=2))
ended.set()
thread.join()
print(json.dumps({"extra": max(seen) - before, "bytes": n_bytes, "samples": len(seen)}))
"""


@pytest.fixture(scope="module", params=KINDS)
def trajectory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trajectory of 160 MiB of positions that do not repeat."""
    folder = tmp_path_factory.mktemp("large")
    positions = np.random.default_rng(5).uniform(0, 90, (70, N_ATOMS, 3)).astype(np.float32)
    convert(Source.memory(positions, np.arange(70.0)), folder / "part.dcd")
    path = folder / f"large.{request.param}"
    convert([folder / "part.dcd"] * (N_FRAMES // 70), path)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
@pytest.mark.parametrize("way", ["read", "iread"])
def test_reading_takes_the_arrays_and_64_mib(trajectory: Path, way: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROBE, way, str(trajectory), "50"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(answer.stdout)
    assert found["samples"] >= 5
    assert found["bytes"] == (N_FRAMES if way == "read" else 50) * N_ATOMS * 12
    # The arrays were seen, so that the samples were taken while they were filled.
    assert found["bytes"] // 2 < found["extra"] < found["bytes"] + EXTRA_BYTES, found
