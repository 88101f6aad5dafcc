"""Whatever goes wrong: one clear line, a fitting exit code, nothing left behind."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from privilege import NOBODY

USAGE, INPUT, OUTPUT = 2, 3, 4


def refused(done, code, *words):
    """Check the exit code and the one line of an error."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("mdreel: error: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert str(word) in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nope"], ["--nope", "mdreel rmsd --help"]),
        (["-nt", "many"], ["-nt", "whole number"]),
        (["-nt", "-1"], ["-nt"]),
        (["--step", "0"], ["--step"]),
        (["-dt", "0"], ["-dt", "more than 0"]),
        (["-b", "5", "--start", "3"], ["-b", "--start", "not by both"]),
        (["--weights", "charge"], ["charge", "mass"]),
        (["--backend", "cloud"], ["cloud", "threads"]),
        (["--reference", "a.pdb", "--ref-frame", "1"], ["--reference", "--ref-frame"]),
        (["-o", "rmsd.doc"], ["rmsd.doc", ".csv, .xvg, .npz, .parquet, .json, .nc"]),
        (["--plot", "rmsd.gif"], ["rmsd.gif", ".png, .pdf, .svg"]),
    ],
)
def test_wrong_usage_is_refused_before_any_file_is_opened(run, tmp_path, arguments, words):
    refused(run("rmsd", "-s", "missing.psf", "-f", "missing.xtc", *arguments), USAGE, *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["rmsd"], ["rmsd", "-s", "a.psf"], ["info"], ["nope"]])
def test_missing_arguments_and_commands_are_refused(run, arguments):
    refused(run(*arguments), USAGE, "--help")


@pytest.mark.parametrize("option", ["-s", "-f", "--reference"])
def test_missing_files_are_named(run, adk, tmp_path, option):
    files = {"-s": adk["psf"], "-f": adk["dcd"], option: "gone.pdb"}
    refused(run("rmsd", *(word for pair in files.items() for word in pair), "-o", "a.csv"), INPUT, "gone.pdb", "o such")
    assert list(tmp_path.iterdir()) == []


def test_directories_are_no_trajectories(run, adk, tmp_path):
    refused(run("rmsd", "-s", adk["psf"], "-f", tmp_path), INPUT, tmp_path)
    refused(run("rmsd", "-s", tmp_path, "-f", adk["dcd"]), INPUT, tmp_path)


@pytest.mark.parametrize("content", [b"", b"not a trajectory\n" * 100, b"\0" * 1000])
@pytest.mark.parametrize("name", ["bad.xtc", "bad.dcd"])
def test_broken_trajectories_are_refused(run, adk, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    refused(run("rmsd", "-s", adk["psf"], "-f", name, "-o", "a.csv"), INPUT, name)
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize("kind", ["dcd", "xtc"])
def test_truncated_trajectories_are_refused(run, adk, tmp_path, kind):
    (tmp_path / f"cut.{kind}").write_bytes(adk[kind].read_bytes()[:-100])
    refused(run("rmsd", "-s", adk["psf"], "-f", f"cut.{kind}", "-o", "a.csv"), INPUT, f"cut.{kind}", "byte")
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize(
    ("window", "n_frames"), [("-e 800", 9), ("-b 400 -e 650", 3), ("-b 400", 0), ("-e 900", 0), ("-dt 200", 0)]
)
def test_time_windows_pass_over_no_torn_frame(run, tmp_path, window, n_frames):
    from MDAnalysisTests.datafiles import GRO, XTC

    (tmp_path / "torn.xtc").write_bytes(Path(XTC).read_bytes()[:-100])  # the last of ten frames, at 900 ps
    done = run("rmsd", "-s", GRO, "-f", "torn.xtc", *window.split(), "-q")
    if n_frames:
        assert done.stdout.splitlines()[0].split()[:2] == ["frames", str(n_frames)], done.stderr
    else:
        refused(done, INPUT, "torn.xtc, frame 9, byte")


def test_broken_topologies_are_refused(run, adk, tmp_path):
    (tmp_path / "bad.psf").write_text("not a topology\n")
    refused(run("rmsd", "-s", "bad.psf", "-f", adk["dcd"]), INPUT, "bad.psf", "topology")
    refused(run("rmsd", "-s", adk["dcd"].with_suffix(".nope"), "-f", adk["dcd"]), INPUT, ".nope")


def test_topology_and_trajectory_must_have_as_many_atoms(run, adk):
    from MDAnalysisTests.datafiles import GRO

    refused(run("rmsd", "-s", GRO, "-f", adk["dcd"]), INPUT, "3341", "47681")


@pytest.mark.parametrize(("selection", "words"), [("name CA and (", ["'name CA and ('"]), ("resname XYZ", ["none of"])])
def test_selections_that_select_nothing_are_refused(run, adk, selection, words):
    refused(run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "--select", selection), INPUT, *words)


def test_reference_must_have_as_many_atoms(run, adk):
    from MDAnalysisTests.datafiles import PDB_small

    selection = "name CA and resid 1:100"
    done = run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "--select", selection, "--reference", PDB_small)
    assert done.returncode == 0, done.stderr
    from MDAnalysisTests.datafiles import GRO

    done = run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "--select", "name CA N", "--reference", GRO, "--quiet")
    refused(run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "--select", "all", "--reference", GRO), INPUT, "47681")


@pytest.mark.parametrize("window", [["--start", "98"], ["--start", "5", "--stop", "5"], ["-b", "1000"]])
def test_windows_without_frames_are_refused(run, adk, window):
    refused(run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], *window), INPUT, "frame")


def test_reference_frame_must_exist(run, adk):
    refused(run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "--ref-frame", "98"), INPUT, "98")


def test_coordinates_that_are_no_numbers_are_refused(run, adk, tmp_path):
    content = bytearray(adk["dcd"].read_bytes())
    record = 4 * 3341  # bytes of one coordinate of all atoms in a frame
    at = len(content) - 3 * (record + 8) + 4
    content[at : at + record] = np.full(3341, np.nan, "<f4").tobytes()
    (tmp_path / "nan.dcd").write_bytes(content)
    refused(run("rmsd", "-s", adk["psf"], "-f", "nan.dcd", "-o", "a.csv"), INPUT, "nan.dcd: frame 97: atom", "finite")
    assert not (tmp_path / "a.csv").exists()


def test_output_directory_must_exist(run, adk):
    refused(run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "-o", "gone/rmsd.csv"), OUTPUT, "gone")


def test_output_directory_must_be_writable(run, adk):
    # No one may make files there, not even root.
    refused(run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "-o", "/sys/rmsd.csv"), OUTPUT, "/sys: ")


@pytest.mark.parametrize("closed", ["adk.psf", "adk.dcd", "a.csv", "a.png"])
def test_files_without_permission_are_refused(adk, closed):
    """Root runs it once, so that all of the program is loaded (Python may be closed to others), and becomes nobody."""
    inputs = {"adk.psf": adk["psf"], "adk.dcd": adk["dcd"]}
    program = f"""
import contextlib, io, os, sys, tempfile
from mdreel.cli.main import main
asked = sys.argv
with tempfile.TemporaryDirectory() as folder:
    for structure in ("gone.psf", {str(adk["psf"])!r}):
        given = ["-s", structure, "-f", {str(adk["dcd"])!r}, "--stop", "2"]
        sys.argv = [asked[0], "rmsd", *given, "-o", folder + "/a.csv", "--plot", folder + "/a.png"]
        with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            main()
    assert len(os.listdir(folder)) == 2
sys.argv = asked
os.geteuid() or os.seteuid({NOBODY})
main()
"""
    command = [sys.executable, "-c", program, "rmsd", "-s", "adk.psf", "-f", "adk.dcd"]
    with tempfile.TemporaryDirectory() as folder:  # pytest's own directories are closed to others
        for name, original in inputs.items():
            shutil.copyfile(original, Path(folder, name))
        if closed in inputs:
            Path(folder, closed).chmod(0)
            Path(folder).chmod(0o777)
            command += ["-o", "ours.csv"]
        else:
            Path(folder).chmod(0o555)
            command += ["--plot" if closed == "a.png" else "-o", closed]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        refused(done, *((INPUT, closed) if closed in inputs else (OUTPUT, folder)), "ermission denied")
        assert {path.name for path in Path(folder).iterdir()} == set(inputs)


def test_disk_that_is_full_is_an_error_of_output(adk, tmp_path):
    program = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "import mdreel.analysis.rmsd, MDAnalysis;"  # no cache of bytecode or of frames may meet the limit
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "from mdreel.cli.main import main; main()"
    )
    command = [sys.executable, "-c", program, "rmsd", "-s", adk["psf"], "-f", adk["dcd"], "-o", "rmsd.csv", "-q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    refused(done, OUTPUT, "rmsd.csv", "large")
    assert list(tmp_path.iterdir()) == []


def test_faults_show_where_when_they_are_asked_to(run):
    done = run("rmsd", "-s", "gone.psf", "-f", "gone.xtc", MDREEL_TRACEBACK="1")
    assert "Traceback" in done.stderr
    assert done.returncode != 0


def test_pipe_that_closes_early_is_no_news(adk):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "mdreel.cli", "rmsd", "-s", adk["psf"], "-f", adk["dcd"], "--quiet"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 128 + signal.SIGPIPE
