"""Trajectories behind a network: an S3-compatible server, and one that drops connections."""

import contextlib
import pickle
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

import mdreel
from mdreel._core import FrameSet
from mdreel.errors import FormatError, UnsupportedError
from mdreel.execution.access import check_access
from mdreel.trajectory import convert
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.remote import RemoteFile

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

BUCKET = "trajectories"
NAMES = ["adk.xtc", "parts/adk.dcd", "adk.nc"]


class Proxy:
    """Passes connections on to a server, and drops every tenth: half of those at once, half within an answer."""

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.n_connections = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.n_connections += 1
            if self.n_connections % 20 == 10:
                client.close()
                continue
            limit = 10_000 if self.n_connections % 20 == 0 else None
            server = socket.create_connection(self._target)
            threading.Thread(target=pump, args=(client, server, None), daemon=True).start()
            threading.Thread(target=pump, args=(server, client, limit), daemon=True).start()

    def close(self) -> None:
        self._listener.close()


def pump(source: socket.socket, target: socket.socket, limit: int | None) -> None:
    n_bytes = 0
    try:
        while data := source.recv(65536):
            n_bytes += len(data)
            if limit is not None and n_bytes > limit:
                break
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        # The other direction may be waiting on it, which keeps a socket open that is only closed.
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    """The port of an S3-compatible server with a bucket that is open to all, in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "Running on" in line:
                break
        drain = threading.Thread(target=process.stderr.read, daemon=True)
        drain.start()
        yield port
        process.terminate()


@pytest.fixture
def s3(server: int, monkeypatch: pytest.MonkeyPatch) -> int:
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    return server


@pytest.fixture
def uploaded(s3: int, adk_xtc: Path, adk_dcd: Path, adk_ncdf: Path, water_ncdf: Path) -> int:
    """The server with some trajectories."""
    put(s3, BUCKET, b"")
    files = {
        "adk.xtc": adk_xtc,
        "parts/adk.dcd": adk_dcd,
        "adk.nc": adk_ncdf,
        "water.xtc": Path(XTC),
        "water.nc": water_ncdf,
    }
    for name, path in files.items():
        put(s3, f"{BUCKET}/{name}", path.read_bytes())
    return s3


@pytest.fixture
def local(adk_xtc: Path, adk_dcd: Path, adk_ncdf: Path) -> dict[str, Path]:
    """Where the same trajectories are on the disk."""
    return {"adk.xtc": adk_xtc, "parts/adk.dcd": adk_dcd, "adk.nc": adk_ncdf}


@pytest.fixture(scope="module")
def adk_ncdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("remote") / "adk.nc"
    convert(DCD, path)
    return path


@pytest.fixture(scope="module")
def water_ncdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("remote") / "water.nc"
    convert(XTC, path)
    return path


def put(port: int, name: str, content: bytes) -> None:
    """Make a bucket or an object that everybody may read."""
    url = f"http://127.0.0.1:{port}/{name}"
    headers = {"x-amz-acl": "public-read", "Content-Type": "application/octet-stream"}
    request = urllib.request.Request(url, content, headers, method="PUT")
    urllib.request.urlopen(request, timeout=30).close()


@pytest.fixture(scope="module")
def ca() -> MDAnalysis.AtomGroup:
    return MDAnalysis.Universe(PSF, DCD).select_atoms("protein and name CA")


def rmsd(atoms: MDAnalysis.AtomGroup, trajectory: object, **options: int) -> np.ndarray:
    return mdreel.RMSD(atoms, trajectory=trajectory).run(**options).results.rmsd


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scheme", ["s3", "http"])
def test_remote_rmsd_has_the_bits_of_the_local_one(
    uploaded: int, ca: MDAnalysis.AtomGroup, local: dict[str, Path], name: str, scheme: str
) -> None:
    url = f"s3://{BUCKET}/{name}" if scheme == "s3" else f"http://127.0.0.1:{uploaded}/{BUCKET}/{name}"
    expected = rmsd(ca, local[name])
    for n_workers in (1, 2):
        np.testing.assert_array_equal(rmsd(ca, url, n_workers=n_workers, n_parts=5), expected)
    np.testing.assert_array_equal(rmsd(ca, url, step=7), expected[::7])


@pytest.mark.parametrize("name", NAMES)
def test_remote_arrays_are_the_local_ones(uploaded: int, local: dict[str, Path], name: str) -> None:
    url = f"http://127.0.0.1:{uploaded}/{BUCKET}/{name}"
    expected = mdreel.read(local[name], atoms=[5, 3, 800], step=7)
    found = mdreel.read(url, atoms=[5, 3, 800], step=7, n_workers=2)
    np.testing.assert_array_equal(found.positions, expected.positions)
    np.testing.assert_array_equal(found.times, expected.times)
    chunks = [chunk.copy().positions for chunk in mdreel.iread([url, url], atoms=[5, 3, 800], step=7, chunk=6)]
    assert len(np.concatenate(chunks)) == 28  # of 196 frames


@pytest.mark.parametrize("name", NAMES)
def test_remote_file_is_fetched_once(uploaded: int, ca: MDAnalysis.AtomGroup, name: str) -> None:
    source = open_trajectory(f"s3://{BUCKET}/{name}")
    rmsd(ca, source, n_workers=1, n_parts=1)
    assert source.n_fetched is not None
    # The first header and the reference frame are fetched on their own, and again with the rest.
    assert source.n_bytes <= source.n_fetched + 200 < source.n_bytes + 150_000


def test_remote_water_is_left_on_the_server(uploaded: int) -> None:
    protein = MDAnalysis.Universe(GRO).select_atoms("protein and name CA")
    source = open_trajectory(f"s3://{BUCKET}/water.xtc")
    np.testing.assert_array_equal(rmsd(protein, source, n_workers=1, n_parts=1), rmsd(protein, XTC))
    assert source.n_fetched is not None
    assert source.n_fetched < 0.5 * source.n_bytes  # of 10 frames the first is read whole, twice


def test_remote_netcdf_water_is_left_on_the_server(uploaded: int) -> None:
    protein = MDAnalysis.Universe(GRO).select_atoms("protein and name CA")
    source = open_trajectory(f"s3://{BUCKET}/water.nc")
    np.testing.assert_array_equal(rmsd(protein, source, n_workers=1, n_parts=1), rmsd(protein, XTC))
    assert source.n_fetched is not None
    # From the first to the last of the atoms it is 7 % of each of 10 frames; the first is read once more as the
    # reference, and once for the check of boundaries.
    assert 0.07 * source.n_bytes < source.n_fetched < 0.09 * source.n_bytes


@pytest.mark.parametrize("name", NAMES)
def test_remote_server_that_drops_connections_changes_nothing(
    uploaded: int, ca: MDAnalysis.AtomGroup, local: dict[str, Path], name: str
) -> None:
    proxy = Proxy(uploaded)
    expected = rmsd(ca, local[name])
    # Without connections kept alive each request meets the proxy's count.
    options = {"client_options": {"pool_max_idle_per_host": "0"}}
    file = RemoteFile(f"http://127.0.0.1:{proxy.port}/{BUCKET}/{name}", options)
    for _ in range(4):
        np.testing.assert_array_equal(rmsd(ca, open_trajectory(file, index="none"), n_workers=2, n_parts=9), expected)
    assert proxy.n_connections >= 20
    proxy.close()


def test_remote_index_is_kept_by_version(uploaded: int, ca: MDAnalysis.AtomGroup, own_cache: Path) -> None:
    url = f"s3://{BUCKET}/adk.xtc"
    assert not open_trajectory(url).is_located
    rmsd(ca, url)
    assert len(list((own_cache / "mdreel" / "index").iterdir())) == 1
    assert open_trajectory(url).is_located


def test_remote_source_survives_pickling(uploaded: int, adk_xtc: Path) -> None:
    source = pickle.loads(pickle.dumps(open_trajectory(f"s3://{BUCKET}/adk.xtc")))
    atoms = np.arange(10, dtype=np.uint32)
    frames = FrameSet.range(3, 1, 2)
    np.testing.assert_array_equal(
        source.read(frames, atoms).positions, open_trajectory(adk_xtc).read(frames, atoms).positions
    )


def test_remote_file_that_is_not_there_is_missing(uploaded: int) -> None:
    url = f"s3://{BUCKET}/none.xtc"
    with pytest.raises(FileNotFoundError, match="none"):
        open_trajectory(url)


def test_remote_server_that_is_not_there_is_an_error_that_names_the_url() -> None:
    options = {"retry_config": {"max_retries": 0}}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(OSError, match=f"127.0.0.1:{port}/adk.xtc"):
        RemoteFile(f"http://127.0.0.1:{port}/adk.xtc", options)


def test_remote_file_that_is_no_trajectory_names_its_url(uploaded: int) -> None:
    put(uploaded, f"{BUCKET}/notes.txt", b"not a trajectory")
    with pytest.raises(FormatError, match=f"s3://{BUCKET}/notes.txt, byte 0: expected a trajectory"):
        open_trajectory(f"s3://{BUCKET}/notes.txt")


def test_remote_needs_obstore_and_says_so() -> None:
    program = (
        "import sys; sys.modules['obstore'] = None; sys.modules['obstore.store'] = None\n"
        "from mdreel.trajectory.open import open as open_trajectory\n"
        "open_trajectory('s3://bucket/adk.xtc')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "UnsupportedError: s3://bucket/adk.xtc: files behind a network need obstore" in done.stderr
    assert "mdreel[remote]" in done.stderr


@pytest.mark.parametrize(("n_files", "remedy"), [(1, "shared"), (2, "chain")])
def test_mpi_io_of_urls_is_refused(uploaded: int, n_files: int, remedy: str) -> None:
    source = open_trajectory([f"http://127.0.0.1:{uploaded}/{BUCKET}/adk.xtc"] * n_files)
    with pytest.raises(UnsupportedError, match=f"'mpiio' is for files .* not for XTC behind a network: use '{remedy}'"):
        check_access("mpiio", source, "mpi", "demand")
