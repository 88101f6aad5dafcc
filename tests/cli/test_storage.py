"""``mdreel convert``, ``split`` and ``concat``: real files in, real files out."""

import os
import pty
import select
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from command_results import refused
from forked_python.command import forked_python
from mdreel.cli.trajectory.written_files import EXTENSIONS
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.output_file import formats

USAGE, INPUT, OUTPUT = 2, 3, 4


def test_convert_writes_the_atoms_and_times_asked_for(run, adk, tmp_path):
    arguments = ["-s", adk["psf"], "-f", adk["dcd"], "--select", "name CA", "-b", "10", "-e", "50", "-dt", "4"]
    done = run("convert", *arguments, "-o", "ca.xtc", "--precision", "10000")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "ca.xtc: 11 frames of 214 atoms" in done.stderr
    source = open_trajectory(tmp_path / "ca.xtc")
    assert source.n_atoms == 214
    np.testing.assert_allclose(source.times(), np.arange(10, 51, 4), rtol=1e-6)
    assert source.describe()[0]["precision"] == 10_000


def test_split_and_concat_give_the_file_back(run, adk, tmp_path):
    done = run("split", "-f", adk["xtc"], "--n-parts", "4", "-o", "part.xtc", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    parts = [f"part-{i}.xtc" for i in range(1, 5)]
    assert [open_trajectory(tmp_path / part).n_frames for part in parts] == [24, 25, 24, 25]
    done = run("concat", *parts, "-o", "all.xtc", "-v")
    assert done.returncode == 0, done.stderr
    assert "worker (ms)" in done.stderr
    assert (tmp_path / "all.xtc").read_bytes() == adk["xtc"].read_bytes()
    assert run("split", "-f", "all.xtc", "--frames", "40", "-o", "p.dcd").returncode == 0
    assert [open_trajectory(tmp_path / f"p-{i}.dcd").n_frames for i in (1, 2, 3)] == [40, 40, 18]


def test_concat_drops_overlaps_and_says_what_a_format_cannot_hold(run, adk, tmp_path):
    for name, window in (("a.xtc", ["--stop", "60"]), ("b.xtc", ["--start", "40"])):
        assert run("convert", "-f", adk["xtc"], *window, "-o", name).returncode == 0
    assert run("concat", "a.xtc", "b.xtc", "--overlaps", "drop", "-o", "all.xtc").returncode == 0
    assert (tmp_path / "all.xtc").read_bytes() == adk["xtc"].read_bytes()
    done = run("concat", "a.xtc", "b.xtc", "-o", "all.dcd", "-q")
    assert done.returncode == 0
    assert done.stderr.startswith("mdreel: warning: all.dcd: the file will have a frame every 1 ps")
    assert done.stderr.count("\n") == 1


def test_repack_stores_what_is_asked_for_as_it_is_asked_for(run, adk, tmp_path):
    arguments = ["-s", adk["psf"], "-f", adk["dcd"], "--select", "name CA", "--start", "10", "--step", "4"]
    storage = ["--chunk", "8x50", "--compression", "gzip", "--level", "2", "--group", "protein"]
    done = run("repack", *arguments, *storage, "-o", "ca.h5md")
    assert done.returncode == 0, done.stderr
    assert "ca.h5md: 22 frames of 214 atoms" in done.stderr
    source = open_trajectory(tmp_path / "ca.h5md")
    np.testing.assert_allclose(source.times(), np.arange(11, 99, 4), rtol=1e-6)
    (facts,) = source.describe()
    assert facts["positions"] == "float32, chunks of 8 x 50 x 3, shuffle, gzip"
    assert facts["group of particles"] == "protein"
    for access, chunk in (("frames", "16 x 3341"), ("atoms", "98 x 16"), ("both", "64 x 64")):
        assert run("repack", "-f", adk["dcd"], "-o", f"{access}.h5", "--access", access, "-q").returncode == 0
        assert (
            open_trajectory(tmp_path / f"{access}.h5").describe()[0]["positions"] == f"float32, chunks of {chunk} x 3"
        )


def test_convert_split_and_concat_write_h5md(run, adk, tmp_path):
    assert run("convert", "-f", adk["xtc"], "-o", "a.h5md", "-q").returncode == 0
    done = run("split", "-f", "a.h5md", "--n-parts", "3", "-o", "p.h5")
    assert done.returncode == 0, done.stderr
    assert "98 frames of 3,341 atoms" in done.stderr
    assert run("concat", "p-1.h5", "p-2.h5", "p-3.h5", "-o", "b.h5md", "-q").returncode == 0
    assert run("convert", "-f", "b.h5md", "-o", "b.xtc", "-q").returncode == 0
    assert (tmp_path / "b.xtc").read_bytes() == adk["xtc"].read_bytes()
    refused(run("repack", "-f", adk["xtc"], "-o", "a.h5md"), USAGE, "a.h5md", "--force")


def test_help_lists_the_endings_of_all_formats_that_can_be_written():
    assert tuple(known.ending for known in formats()) == EXTENSIONS


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["convert", "-f", "no.xtc"], ["--output"]),
        (["convert", "-f", "no.xtc", "-o", "a.pdb"], ["a.pdb", "one of .xtc, .dcd, .trr, .nc, .h5md, .h5"]),
        (["convert", "-f", "no.xtc", "-o", "a.xtc", "--precision", "-1"], ["precision", "positive"]),
        (["convert", "-f", "no.xtc", "-o", "a.dcd", "--precision", "100"], ["DCD", "precision"]),
        (["convert", "-f", "no.xtc", "-o", "a.dcd", "--select", "all"], ["--select", "-s"]),
        (["convert", "-f", "no.xtc", "-o", "a.dcd", "-b", "1", "--step", "2"], ["-b", "--step", "not by both"]),
        (["split", "-f", "no.xtc", "-o", "a.dcd"], ["--n-parts", "--frames"]),
        (["split", "-f", "no.xtc", "-o", "a.dcd", "--n-parts", "2", "--frames", "3"], ["--n-parts", "--frames"]),
        (["split", "-f", "no.xtc", "-o", "a.dcd", "--n-parts", "0"], ["--n-parts"]),
        (["repack", "-f", "no.xtc", "-o", "a.xtc"], ["a.xtc", ".h5md or .h5"]),
        (["repack", "-f", "no.xtc", "-o", "a.h5", "--access", "time"], ["time", "frames", "both"]),
        (["repack", "-f", "no.xtc", "-o", "a.h5", "--access", "atoms", "--chunk", "1x1"], ["--access", "--chunk"]),
        (["repack", "-f", "no.xtc", "-o", "a.h5", "--chunk", "64"], ["FRAMESxATOMS", "'64'"]),
        (["repack", "-f", "no.xtc", "-o", "a.h5", "--level", "3"], ["choose gzip"]),
        (["repack", "-f", "no.xtc", "-o", "a.h5", "--compression", "gzip", "--level", "10"], ["--level", "9"]),
        (["repack", "-f", "no.xtc", "-o", "a.h5", "--group", "a/b"], ["a name without /"]),
        (["concat", "-o", "a.dcd"], ["name a trajectory"]),
        (["concat", "no.xtc", "-o", "a.dcd", "--overlaps", "melt"], ["melt", "drop"]),
    ],
)
def test_wrong_usage_is_refused_before_any_file_is_opened(run, tmp_path, arguments, words):
    refused(run(*arguments), USAGE, *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["convert", "-f"], ["split", "--n-parts", "2", "-f"], ["concat"]])
def test_missing_and_broken_trajectories_are_named(run, tmp_path, command):
    refused(run(*command, "gone.xtc", "-o", "a.xtc"), INPUT, "gone.xtc", "o such")
    (tmp_path / "bad.xtc").write_bytes(b"\0" * 1000)
    refused(run(*command, "bad.xtc", "-o", "a.xtc"), INPUT, "bad.xtc")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.xtc"]


def test_existing_output_is_kept_unless_forced(run, adk, tmp_path):
    (tmp_path / "a.dcd").write_text("old")
    refused(run("convert", "-f", adk["xtc"], "-o", "a.dcd"), USAGE, "a.dcd", "--force")
    assert (tmp_path / "a.dcd").read_text() == "old"
    assert run("convert", "-f", adk["xtc"], "-o", "a.dcd", "--force").returncode == 0
    assert open_trajectory(tmp_path / "a.dcd").n_frames == 98


@pytest.mark.parametrize("target", ["missing/a.xtc", "/dev/full/a.xtc"])
def test_output_that_cannot_be_written_is_named(run, adk, target):
    refused(run("convert", "-f", adk["dcd"], "-o", target), OUTPUT, Path(target).parent)


def test_selection_that_matches_nothing_is_refused(run, adk):
    arguments = ["-s", adk["psf"], "-f", adk["dcd"], "-o", "a.xtc"]
    refused(run("convert", *arguments, "--select", "name XX"), INPUT, "name XX", "none of the 3,341 atoms")


@pytest.mark.parametrize("output", ["a.xtc", "a.h5md"])
@pytest.mark.parametrize(
    ("number", "code", "last_words"), [(signal.SIGINT, 130, b"mdreel: interrupted"), (signal.SIGTERM, 143, b"")]
)
def test_interrupt_leaves_nothing(adk, tmp_path, number, code, last_words, output):
    command = [forked_python(), "-m", "mdreel.cli", "convert", *(["-f", str(adk["dcd"])] * 2000), "-o", output]
    controller, terminal = pty.openpty()
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal) as process:
        os.close(terminal)
        shown = b""
        while b"frames/s" not in shown:  # the progress bar says that the conversion is in its middle
            assert select.select([controller], [], [], 60)[0], shown
            shown += os.read(controller, 4096)
        process.send_signal(number)
        while True:  # until the other end closes
            try:
                shown += os.read(controller, 4096)
            except OSError:
                break
        process.wait()
    os.close(controller)
    assert process.returncode == code, shown
    assert shown.rstrip().endswith(last_words)
    assert b"Traceback" not in shown
    assert list(tmp_path.iterdir()) == []
