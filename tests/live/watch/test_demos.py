"""Tests of the demos, which run OpenMM, and of the clusters of all replicas."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import numpy as np
import pytest

import mdreel
from mdreel.errors import UnsupportedError, WorkerError
from mdreel.live.demos import replica_clusters
from mdreel.live.demos.demo_files import N_REPLICAS, Demo
from mdreel.live.demos.simulations import check_openmm
from watched_page import MDREEL, address_of

LONGEST_SECONDS = 240.0
N_FRAMES = 98

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


class RunningDemo:
    """A demo in a folder, and its page."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = folder
        command = [*MDREEL, "demo", name, "-o", str(folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = address_of(self.process)
        self.first = ""

    def channels(self) -> list[dict[str, Any]]:
        """Return the channels on the page. The first channel is expanded."""
        url = self.url.replace("/?", "/state?") + (f"&open={quote(self.first)}" if self.first else "")
        with urlopen(url, timeout=30) as answer:
            found: list[dict[str, Any]] = json.load(answer)["channels"]
        self.first = found[0]["path"] if found else ""
        return found

    def await_page(self, is_so: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        """Wait until the channels on the page meet a condition."""
        until = monotonic() + LONGEST_SECONDS
        while not is_so(seen := self.channels()):
            assert self.process.poll() is None, self.process.stderr.read() if self.process.stderr else ""
            assert monotonic() < until, (seen, (self.folder / "output.log").read_text())
            sleep(0.5)
        return seen

    def stop(self) -> str:
        """Press Ctrl-C, and return what the command says."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=LONGEST_SECONDS)
        assert self.process.returncode == 0, said
        return said


def processes_in(folder: Path) -> list[str]:
    """Return the commands of the processes that work in a folder or name it."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            place = str((path / "cwd").readlink())
        except OSError:  # it has ended
            continue
        if command and (place.startswith(str(folder)) or str(folder) in command):
            found.append(command)
    return found


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], RunningDemo]]:
    pytest.importorskip("openmm", reason="openmm is not installed")
    started: list[RunningDemo] = []

    def run(name: str) -> RunningDemo:
        started.append(RunningDemo(name, tmp_path / name))
        return started[-1]

    yield run
    for one in started:
        if one.process.poll() is None:
            one.process.terminate()
        one.process.communicate(timeout=LONGEST_SECONDS)


def analyses_of(channel: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in channel.get("analyses", ())}


def test_protein_in_water_is_analysed_and_steered_and_leaves_nothing(
    start: Callable[[str], RunningDemo], folder: Path
) -> None:
    demo = start("openmm")

    def is_whole(channels: list[dict[str, Any]]) -> bool:
        if not channels:
            return False
        events = [one["event"] for one in channels[0].get("steering") or ()]
        values = [one["latest"] for one in analyses_of(channels[0]).values()]
        return len(values) == 3 and any(values) and "acted" in events

    (channel,) = demo.await_page(is_whole)
    assert channel["state"] == "running"
    assert channel["n_frames"] > 0
    assert {*analyses_of(channel)} == {"RMSD", "Lifetime of hydrogen bonds", "DSSP"}
    assert analyses_of(channel)["RMSD"]["latest"]["rmsd"] > 0
    assert {one["state"] for one in analyses_of(channel).values()} == {"running"}
    assert processes_in(demo.folder) != []
    said = demo.stop()
    assert str(demo.folder) in said
    assert processes_in(demo.folder) == []
    assert [*folder.iterdir()] == []  # the channel has been removed
    rows = np.loadtxt(demo.folder / "rmsd.csv", delimiter=",", skiprows=1)
    log = [json.loads(line) for line in (demo.folder / "steering.jsonl").read_text().splitlines()]
    (fired,) = [one for one in log if one["event"] == "fired"]
    assert fired["values"]["rmsd"] == rows[fired["sequence"], 2] > 0.3
    assert log[-1]["event"] == "ended"
    assert (demo.folder / "state.checkpoint").stat().st_size > 0


def test_replicas_are_clustered_and_leave_nothing(start: Callable[[str], RunningDemo], folder: Path) -> None:
    demo = start("ensemble")
    names = {"RMSD", "Radius of gyration", "Clusters of all replicas", "Visited clusters"}

    def is_whole(channels: list[dict[str, Any]]) -> bool:
        each = [analyses_of(channel) for channel in channels]
        return len(each) == N_REPLICAS and all({*one} == names and one["Visited clusters"]["latest"] for one in each)

    channels = demo.await_page(is_whole)
    assert len(channels) == N_REPLICAS
    assert {channel["state"] for channel in channels} == {"running"}
    demo.stop()
    assert processes_in(demo.folder) == []
    assert [*folder.iterdir()] == []
    table = np.loadtxt(demo.folder / "clusters.csv", delimiter=",", skiprows=1, ndmin=2)
    assert table.shape[1] == 3 + N_REPLICAS
    assert table[:, 1].sum() >= N_REPLICAS
    np.testing.assert_allclose(table[:, 2:].sum(axis=0), 1.0)
    assert len([*(demo.folder / "replicas").glob("00[0-7]/state.checkpoint")]) == N_REPLICAS


@pytest.mark.parametrize(("most", "stride"), [(400, 1), (30, 4)])
def test_clusters_are_those_of_the_joined_trajectories(
    adk: dict[str, Path],
    running: "Callable[..., subprocess.Popen[str]]",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    stride: int,
) -> None:
    import MDAnalysis as mda

    monkeypatch.setattr(replica_clusters, "MOST_FRAMES", most)
    produce = ("produce", adk["dcd"], "--consumers", "1", "--quiet")
    starts = (0, 40)
    producers = [running(*produce, "--channel", f"r{start}", "--start", str(start)) for start in starts]
    clusters = replica_clusters.ReplicaClusters(adk["psf"], "name CA", [f"r{start}" for start in starts], 1.5)
    replica_clusters.follow(clusters, 0.0, tmp_path / "clusters.csv")
    assert [one.wait(timeout=LONGEST_SECONDS) for one in producers] == [0, 0]
    universe = mda.Universe(adk["psf"], adk["dcd"])
    atoms = universe.select_atoms("name CA")
    numbers = [np.arange(start, N_FRAMES)[::stride] for start in starts]
    positions = np.stack([atoms.positions for _ in universe.trajectory[np.concatenate(numbers)]])
    joined = mda.Merge(atoms).load_new(positions, order="fac")
    found = mdreel.analysis.GromosClustering(joined, cutoff=1.5).run().results
    np.testing.assert_array_equal(clusters.sizes, found.sizes)
    assert len(found.sizes) > 1
    for i, labels in enumerate(np.split(found.labels, [len(numbers[0])])):
        shares = np.bincount(labels, minlength=len(found.sizes)) / len(labels)
        np.testing.assert_array_equal(clusters.populations[:, i], shares)
    table = np.loadtxt(tmp_path / "clusters.csv", delimiter=",", skiprows=1, ndmin=2)
    np.testing.assert_array_equal(table[:, 1], found.sizes)


def test_missing_openmm_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openmm", None)
    with pytest.raises(UnsupportedError, match=r"pip install openmm"):
        check_openmm()


def test_an_existing_folder_is_not_used(tmp_path: Path) -> None:
    pytest.importorskip("openmm", reason="openmm is not installed")
    done = subprocess.run([*MDREEL, "demo", "openmm", "-o", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 4
    assert f"{tmp_path}: already exists; name a new folder with -o" in done.stderr
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["openmm", "ensemble"])
def test_a_demo_that_ends_before_its_first_frame_leaves_nothing(name: str, tmp_path: Path, folder: Path) -> None:
    pytest.importorskip("openmm", reason="openmm is not installed")
    command = [*MDREEL, "demo", name, "--seconds", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LONGEST_SECONDS)
    assert done.returncode == 0, done.stderr
    place = tmp_path / "mdreel-demo"
    assert str(place) in done.stderr
    assert (place / "output.log").is_file()
    assert processes_in(tmp_path) == []
    assert [*folder.iterdir()] == []


def test_a_program_that_fails_is_named_with_its_output(tmp_path: Path) -> None:
    demo = Demo(tmp_path, tmp_path / "top.pdb", ("failing",), [(sys.executable, "-c", "raise SystemExit('no atoms')")])
    demo.start()
    until = monotonic() + LONGEST_SECONDS
    with pytest.raises(WorkerError, match=r"exit status 1: read .*output\.log"):
        while monotonic() < until:
            demo.check()
            sleep(0.05)
    demo.stop()
    assert (tmp_path / "output.log").read_text() == "no atoms\n"
