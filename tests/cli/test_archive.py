"""``mdreel archive``: the frames of a channel in a file."""

import json
import resource
import subprocess
import time

import pytest

from forked_python.command import forked_python
from growing_file import N_ATOMS
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.producer import Producer
from publishing import publish


@pytest.fixture(autouse=True)
def folder(tmp_path_factory, monkeypatch):
    place = tmp_path_factory.mktemp("channels")
    place.chmod(0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(place))
    return place


@pytest.fixture
def published(run, adk, tmp_path):
    """The channel run1, that has ended; all of its frames are staged."""
    done = run("produce", adk["xtc"], "--channel", "run1", "--staging", tmp_path / "staging", "-q")
    assert done.returncode == 0, done.stderr
    return adk["xtc"]


def test_archive_of_a_published_file_is_what_it_converts_to(run, published, tmp_path):
    done = run("archive", "run1", "-o", "run1.h5md")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("run1.h5md: 98 frames, ")
    assert run("convert", "-f", published, "-o", "converted.h5md", "-q").returncode == 0
    assert (tmp_path / "run1.h5md").read_bytes() == (tmp_path / "converted.h5md").read_bytes()
    again = run("archive", "run1", "-o", "run1.h5md", "-q")
    assert (again.returncode, again.stderr) == (0, "")
    xtc = run("archive", "run1", "-o", "run1.xtc", "--group", "xtc", "--precision", "1000", "-q")
    assert xtc.returncode == 0, xtc.stderr
    assert json.loads(run("info", "-f", "run1.xtc", "--json").stdout)["n_frames"] == 98


def test_archive_that_was_killed_goes_on(run, tmp_path):
    command = [forked_python(), "-m", "mdreel.cli", "archive", "run1", "-o", "run1.dcd", "--wait", "60", "-q"]
    hidden = tmp_path / ".run1.dcd.archive"
    with (
        subprocess.Popen(command, cwd=tmp_path) as first,
        Producer("run1", N_ATOMS, n_slots=4, full="spill", staging=Staging(tmp_path / "staging")) as producer,
    ):
        for frame in range(20):
            publish(producer, frame)
        while not (hidden.exists() and hidden.stat().st_size):
            assert first.poll() is None
            time.sleep(0.01)
        first.kill()
        first.wait()
        for frame in range(20, 40):
            publish(producer, frame)
    assert not (tmp_path / "run1.dcd").exists()
    done = run("archive", "run1", "-o", "run1.dcd", "-q")
    assert done.returncode == 0, done.stderr
    assert not hidden.exists()
    assert run("archive", "run1", "-o", "whole.dcd", "--group", "whole", "-q").returncode == 0
    assert (tmp_path / "run1.dcd").read_bytes() == (tmp_path / "whole.dcd").read_bytes()


def test_file_that_cannot_grow_is_an_output_error_and_goes_on_later(run, published, tmp_path):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))

    command = [forked_python(), "-m", "mdreel.cli", "archive", "run1", "-o", "run1.dcd", "-q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=small_files)
    assert done.returncode == 4
    assert "run1.dcd: File too large" in done.stderr
    assert not (tmp_path / "run1.dcd").exists()
    assert run("archive", "run1", "-o", "run1.dcd", "-q").returncode == 0
    assert json.loads(run("info", "-f", "run1.dcd", "--json").stdout)["n_frames"] == 98


@pytest.mark.parametrize(
    ("channel", "options", "code", "words"),
    [
        ("run1", ["-o", "run1.pdb"], 2, "the ending of a trajectory must be one of"),
        ("run1", ["-o", "run1.trr", "--precision", "10"], 2, "does not round"),
        ("run1", ["-o", "there.xtc"], 2, "the output exists already (--force replaces it)"),
        ("run1", ["-o", "absent/run1.xtc"], 4, "the directory of the output does not exist"),
        ("absent", ["-o", "run1.xtc"], 3, "absent: the channel does not exist; start the simulation first"),
        ("no name", ["-o", "run1.xtc"], 3, "the name of a channel must be"),
        ("run1", [], 2, "Missing option"),
    ],
)
def test_what_makes_no_sense_is_refused(run, published, tmp_path, channel, options, code, words):
    (tmp_path / "there.xtc").write_text("mine")
    done = run("archive", channel, *options)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert (tmp_path / "there.xtc").read_text() == "mine"
    assert not [left.name for left in tmp_path.iterdir() if left.name.startswith(".")]
