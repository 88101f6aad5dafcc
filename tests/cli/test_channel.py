"""``mdreel produce``, ``mdreel channels``, and analyses with ``--channel``."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest

import mdreel
from forked_python.command import forked_python
from mdreel.errors import MdreelWarning

LONGEST_SECONDS = 5.0  # to the end of the process; 0.2 s are meant, but a test must not fail because a machine is busy


@pytest.fixture(autouse=True)
def folder(tmp_path_factory, monkeypatch):
    place = tmp_path_factory.mktemp("channels")
    place.chmod(0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(place))
    return place


def produce(run, path, *arguments):
    done = run("produce", path, "--channel", "run1", "--slots", "128", *arguments)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("kind", ["dcd", "xtc"])
def test_channel_gives_the_table_of_the_file(run, adk, tmp_path, kind):
    produce(run, adk[kind], "-q")
    done = run("rmsd", "-s", adk["psf"], "--channel", "run1", "-o", "channel.csv", "-q")
    assert done.returncode == 0, done.stderr
    assert run("rmsd", "-s", adk["psf"], "-f", adk[kind], "-o", "whole.csv", "-q").returncode == 0
    assert (tmp_path / "channel.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_channel_prints_a_summary_and_names_itself_in_files(run, adk, tmp_path):
    produce(run, adk["dcd"], "--stop", "20", "-q")
    done = run("rmsd", "-s", adk["psf"], "--channel", "run1")
    assert done.returncode == 0, done.stderr
    assert "20" in done.stdout.splitlines()[0]
    assert run("rg", "-s", adk["psf"], "--channel", "run1", "-o", "rg.json").returncode == 0
    assert json.loads((tmp_path / "rg.json").read_text())["metadata"]["trajectory"] == "channel run1"


def test_output_is_written_as_frames_come_and_at_the_end(run, adk, tmp_path):
    slow = [forked_python(), "-m", "mdreel.cli", "produce", str(adk["dcd"]), "--channel", "run1", "--rate", "40"]
    with subprocess.Popen([*slow, "--consumers", "1", "-q"], cwd=tmp_path) as simulation:
        options = ["-s", str(adk["psf"]), "--channel", "run1", "--wait", "60", "--every", "0", "-o", "rmsd.csv", "-q"]
        command = [forked_python(), "-m", "mdreel.cli", "rmsd", *options]
        lengths = set()
        with subprocess.Popen(command, cwd=tmp_path) as analysis:
            while analysis.poll() is None:
                if (tmp_path / "rmsd.csv").exists():
                    lengths.add(len((tmp_path / "rmsd.csv").read_text().splitlines()))
                time.sleep(0.01)
        assert analysis.returncode == 0
    assert simulation.returncode == 0
    assert min(lengths) < len((tmp_path / "rmsd.csv").read_text().splitlines())  # with fewer frames, before the end
    assert run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "-o", "whole.csv", "-q").returncode == 0
    assert (tmp_path / "rmsd.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_output_that_is_there_is_not_replaced(run, adk, tmp_path):
    produce(run, adk["dcd"], "-q")
    (tmp_path / "rmsd.csv").write_text("mine")
    done = run("rmsd", "-s", adk["psf"], "--channel", "run1", "-o", "rmsd.csv", "-q")
    assert done.returncode == 2
    assert (tmp_path / "rmsd.csv").read_text() == "mine"


def test_followed_file_may_be_written_as_frames_come_as_well(run, adk, tmp_path):
    common = ["rmsd", "-s", adk["psf"], "-f", adk["xtc"], "--quiet"]
    done = run(*common, "--follow", "--end-frames", "98", "--every", "0", "-o", "followed.csv")
    assert done.returncode == 0, done.stderr
    assert run(*common, "-o", "whole.csv").returncode == 0
    assert (tmp_path / "followed.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "Missing option '-f'"),
        (["--channel", "run1", "-f", "a.xtc"], "not both"),
        (["-f", "a.xtc", "--start-at", "latest"], "--start-at requires --channel"),
        (["-f", "a.xtc", "--wait", "3"], "--wait requires --channel"),
        (["-f", "a.xtc", "--every", "3"], "--every requires --channel or --follow"),
        (["--channel", "run1", "--start-at", "soon"], "--start-at must be earliest"),
        (["--channel", "run1", "--start-at", "step:x"], "--start-at must be earliest"),
        (["--channel", "run1", "-b", "3"], "-b requires trajectory files"),
        (["--channel", "run1", "--follow", "--end-idle", "1"], "--follow requires trajectory files"),
        (["--channel", "run1", "--checkpoint", "kept"], "--checkpoint requires trajectory files"),
        (["--channel", "run1", "--backend", "processes"], "--backend: not available for live results"),
        (["--channel", "run1", "--on-error", "skip"], "--on-error: not available for live results"),
        (["--channel", "no name"], "the name of a channel must be"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, adk, options, words):
    done = run("rmsd", "-s", adk["psf"], *options)
    assert done.returncode in (2, 3)
    assert words in done.stderr


def test_absent_channel_is_a_missing_file(run, adk):
    done = run("rmsd", "-s", adk["psf"], "--channel", "run1")
    assert done.returncode == 3
    assert "run1: the channel does not exist; start the simulation first, or wait for it" in done.stderr
    done = run("rmsd", "-s", adk["psf"], "--channel", "run1", "--wait", "0.1")
    assert done.returncode == 3
    assert "run1: the channel was not created within 0.1 s; check its name, start the simulation" in done.stderr
    done = run("channels", "run1")
    assert done.returncode == 3


def test_advice_on_a_channel_is_refused(run, adk):
    done = run("advise", "--", "mdreel", "rmsd", "-s", adk["psf"], "--channel", "run1")
    assert done.returncode == 2
    assert "--channel: mdreel advise needs to know the number of frames" in done.stderr


def test_channels_are_listed_and_removed(run, adk, folder):
    assert run("channels").stderr == "no channels\n"
    assert "98 frames on channel run1" in produce(run, adk["dcd"]).stderr
    listed = run("channels", "--seconds", "0")
    heading, line = listed.stdout.splitlines()
    assert heading.split()[:4] == ["channel", "state", "atoms", "frames"]
    assert line.split()[:4] == ["run1", "finished", "3,341", "98"]
    (facts,) = json.loads(run("channels", "run1", "--json").stdout)
    expected = {"name": "run1", "state": "finished", "n_atoms": 3341, "n_frames": 98, "n_consumers": 0, "n_dropped": 0}
    assert {name: facts[name] for name in expected} == expected
    assert facts["frames_per_second"] == 0
    assert facts["n_slots"] == 128
    assert run("channels", "--remove").returncode == 2
    assert run("channels", "run1", "--remove").returncode == 0
    assert list(folder.iterdir()) == []


def test_frames_are_those_of_the_current_run(run, adk):
    produce(run, adk["dcd"], "--stop", "20", "-q")
    produce(run, adk["dcd"], "--stop", "30", "-q")
    listed = run("channels", "--seconds", "0")
    assert listed.stdout.splitlines()[1].split()[:4] == ["run1", "finished", "3,341", "30"]
    (facts,) = json.loads(run("channels", "--json", "--seconds", "0").stdout)
    assert (facts["n_frames"], facts["n_frames_of_run"]) == (50, 30)
    named = run("channels", "run1", "--seconds", "0").stdout
    assert "run1: earlier runs have published 20 more frames\n" in named


def test_reason_why_a_producer_was_lost_is_listed(run):
    doomed = "import mdreel, os; producer = mdreel.live.Producer('run1', n_atoms=3).open(); os._exit(7)"
    with subprocess.Popen([sys.executable, "-c", doomed]) as process:
        assert process.wait(60) == 7
    reason = rf"process {process.pid} \(.+\) on \S+ has died without an end record"
    _, row, line = run("channels", "--seconds", "0").stdout.splitlines()
    assert row.split()[:2] == ["run1", "lost"]
    assert re.fullmatch(f"run1: {reason}", line)
    (facts,) = json.loads(run("channels", "--json", "--seconds", "0").stdout)
    assert facts["state"] == "lost"
    assert re.fullmatch(reason, facts["reason"])


def test_channel_of_another_version_does_not_hide_the_others(run, adk, folder):
    produce(run, adk["dcd"], "--stop", "2", "-q")
    assert run("produce", adk["dcd"], "--channel", "old", "--stop", "2", "-q").returncode == 0
    (folder / "old" / "ring").write_bytes(b"of another version" * 1000)
    message = (
        "old: another version of mdreel wrote this channel, or the directory is no channel; use that version, or if "
        f"its simulation has ended, remove it with: rm -r {folder}/old\n"
    )
    for options in ([], ["--json"]):
        done = run("channels", "--seconds", "0", *options)
        assert (done.returncode, done.stderr) == (0, f"mdreel: {message}")
        assert "run1" in done.stdout
    done = run("channels", "old", "run1", "--seconds", "0")
    assert (done.returncode, done.stderr) == (3, f"mdreel: error: {message}")
    assert done.stdout.splitlines()[1].startswith("run1")
    with pytest.warns(MdreelWarning, match="old: another version of mdreel"):
        assert [status.name for status in mdreel.live.list_channels()] == ["run1"]


def test_waiting_for_an_absent_channel_is_said_at_once_with_those_that_exist(run, adk, folder):
    asked = ["rmsd", "-s", adk["psf"], "--channel", "run2", "--wait", "0.1"]
    assert run(*asked).stderr.splitlines()[0] == (
        f"mdreel: waiting up to 0.1 s for the channel {folder}/run2, which does not exist yet (there are no channels)"
    )
    produce(run, adk["dcd"], "--stop", "2", "-q")
    first, last = run(*asked).stderr.splitlines()
    existing = " (existing channels: run1; did you mean 'run1'?)"
    assert first.endswith(f"which does not exist yet{existing}")
    assert last.startswith(f"mdreel: error: {folder}/run2: the channel was not created within 0.1 s")
    assert last.endswith(existing)
    assert run(*asked, "-q").stderr == f"{last}\n"
    next_run = run("rmsd", "-s", adk["psf"], "--channel", "run1", "--wait", "0.1", "--new-run")
    assert (
        next_run.stderr.splitlines()[0] == f"mdreel: waiting up to 0.1 s for the next run of the channel {folder}/run1"
    )
    assert run("archive", "run2", "-o", "a.xtc", "--wait", "0.1").stderr.splitlines()[0] == first
    assert run("channels", "run2").stderr == (f"mdreel: error: {folder}/run2: the channel does not exist{existing}\n")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rate", "fast"], "--rate must be frames per second"),
        (["--rate", "0"], "more than 0 frames a second"),
        (["--fsync"], "--fsync requires --staging"),
        (["--full", "panic"], "--full"),
        (["--full", "spill"], 'full="spill" requires staging'),
        (["--start", "-1"], "--start and --stop must not be negative"),
        (["--start", "98"], "no frame is left"),
        (["--slots", "1"], "--slots"),
    ],
)
def test_produce_refuses_what_makes_no_sense(run, adk, folder, options, words):
    done = run("produce", adk["dcd"], "--channel", "run1", *options)
    assert done.returncode in (2, 3)
    assert words in done.stderr
    assert list(folder.iterdir()) == []


def test_produce_goes_on_where_it_was_killed(run, adk, tmp_path):
    slow = [forked_python(), "-m", "mdreel.cli", "produce", str(adk["dcd"]), "--channel", "run1", "--slots", "128"]
    with subprocess.Popen([*slow, "--rate", "20", "-q"], cwd=tmp_path) as first:
        until = time.monotonic() + 60
        while json.loads(run("channels", "--json", "--seconds", "0").stdout or "[]") == []:
            assert time.monotonic() < until
        options = ["-s", str(adk["psf"]), "--channel", "run1", "--restart", "60", "-o", "rmsd.csv", "-q"]
        with subprocess.Popen([forked_python(), "-m", "mdreel.cli", "rmsd", *options], cwd=tmp_path) as analysis:
            while json.loads(run("channels", "--json", "--seconds", "0").stdout)[0]["n_consumers"] == 0:
                assert time.monotonic() < until
            first.kill()
            first.wait()
            produce(run, adk["dcd"], "-q")
    assert analysis.returncode == 0
    assert run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "-o", "whole.csv", "-q").returncode == 0
    assert (tmp_path / "rmsd.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_interrupt_ends_the_waiting_for_frames(adk, tmp_path, run):
    with subprocess.Popen(
        [forked_python(), "-m", "mdreel.cli", "produce", str(adk["dcd"]), "--channel", "run1", "--rate", "0.1", "-q"],
        cwd=tmp_path,
    ) as simulation:
        controller, terminal = pty.openpty()
        options = ["-s", str(adk["psf"]), "--channel", "run1", "--wait", "60", "-o", "rmsd.csv"]
        command = [forked_python(), "-m", "mdreel.cli", "rmsd", *options]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal) as process:
            os.close(terminal)
            shown = b""
            while b"1 frame" not in shown:
                assert select.select([controller], [], [], 60)[0], shown
                shown += os.read(controller, 4096)
            process.send_signal(signal.SIGINT)
            sent = time.monotonic()
            process.wait(60)
            seconds = time.monotonic() - sent
        os.close(controller)
        simulation.send_signal(signal.SIGINT)
        assert simulation.wait(60) == 130
    assert process.returncode == 130, shown
    assert seconds < LONGEST_SECONDS
    assert json.loads(run("channels", "--json", "--seconds", "0").stdout)[0]["state"] == "stopped"


@pytest.mark.parametrize("name", ["rg", "contacts"])
def test_analysis_of_a_channel_gives_what_it_gives_of_the_file(run, adk, tmp_path, name):
    produce(run, adk["dcd"], "-q")
    done = run(name, "-s", adk["psf"], "--channel", "run1", "-o", "channel.csv", "-q")
    assert done.returncode == 0, done.stderr
    assert run(name, "-s", adk["psf"], "-f", adk["dcd"], "-o", "whole.csv", "-q").returncode == 0
    assert (tmp_path / "channel.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
