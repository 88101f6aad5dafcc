"""``mdreel watch``: once, in a pipe, on a terminal, and how it ends."""

import json
import os
import pty
import re
import select
import signal
import subprocess
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from forked_python.command import forked_python
from growing_file import N_ATOMS
from mdreel.live.producers.producer import Producer
from publishing import publish
from told_notices import Series, Told

MDREEL = [forked_python(), "-m", "mdreel.cli"]


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path_factory.mktemp("channels")
    place.chmod(0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(place))
    return place


def publish_on(name: str, n_frames: int = 3) -> None:
    with Producer(name, N_ATOMS, n_slots=8) as producer:
        for frame in range(n_frames):
            publish(producer, frame)


def test_once_prints_a_line_for_each_channel(run: Any, folder: Path) -> None:
    done = run("watch", "--once")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "no channels\n")
    publish_on("b")
    publish_on("a")
    Told(folder / "a", Series()).say(n_frames=101)
    done = run("watch", "--once")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    head = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    counted = "frames=3 frames_per_second=0 megabytes_per_second=0 lag=- dropped=0"
    told = rf"RMSD\[{os.getpid()}\]=running:101 value_0=0\.8415Å idle=50%"
    assert re.fullmatch(f"{head} a finished {counted} {told}", first)
    assert re.fullmatch(f"{head} b finished {counted}", second)


def test_json_has_all_that_is_known(run: Any, folder: Path) -> None:
    publish_on("a")
    Told(folder / "a", Series()).say(n_frames=101)
    said = json.loads(run("watch", "a", "c", "--once", "--json").stdout)
    a, c = said["channels"]
    assert (a["name"], a["state"], a["n_frames"], a["n_atoms"]) == ("a", "finished", 3, N_ATOMS)
    (analysis,) = a["analyses"]
    assert analysis["latest"] == {"value_0": 0.841471}
    assert (analysis["n_frames"], analysis["process"], analysis["idle"]) == (101, os.getpid(), 0.5)
    assert (c["state"], c["n_frames"]) == ("absent", None)


def test_nothing_to_look_at_is_an_error_once(run: Any, folder: Path) -> None:
    done = run("watch", "a", "--once")
    assert done.returncode == 3
    assert "a: the channel does not exist or cannot be read" in done.stderr
    assert "a absent" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--port", "80"], "--port requires --web"),
        (["--listen", "127.0.0.1"], "--listen requires --web"),
        (["--operate"], "--operate requires --web"),
        (["--alert", "rmsd>6"], "--alert requires --web"),
        (["--on-alert", "true"], "--on-alert requires --web"),
        (["-s", "a.psf"], "--topology requires --web"),
        (["--web", "--view", "all"], "--view requires --topology"),
        (["--web", "-n", "a.ndx"], "--index requires --topology"),
        (["--web", "-s", "missing.psf"], "missing.psf: No such file or directory"),
        (["--web", "--alert", "rmsd"], "expected COLUMN>NUMBER or ANALYSIS:COLUMN<NUMBER, got 'rmsd'"),
        (["--web", "--alert", "rmsd>six"], "expected COLUMN>NUMBER"),
        (["--web", "--alert", "rmsd>nan"], "must be a finite number"),
        (["--web", "--on-alert", "say 'x"], "cannot be read"),
        (["--web", "--on-alert", " "], "the command for alerts is empty"),
        (["--web", "--once"], "--web cannot be used with --once or --json"),
        (["--web", "--json"], "--web cannot be used with --once or --json"),
        (["--web", "--listen", "example.com"], "expected an IP address of this machine"),
        (["--web", "--listen", "192.0.2.7"], "192.0.2.7, port 0: "),
        (["no name"], "the name of a channel must be"),
        (["--interval", "0"], "--interval"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(run: Any, options: list[str], words: str) -> None:
    done = run("watch", *options)
    assert done.returncode in (2, 3)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_folder_of_somebody_else_is_refused(run: Any, folder: Path) -> None:
    folder.chmod(0o755)
    done = run("watch", "--once")
    assert done.returncode == 3
    assert "expected no rights for others" in done.stderr


@pytest.mark.parametrize("options", [["--json"], [], ["--web"]])
def test_ctrl_c_ends_it_quietly(folder: Path, options: list[str]) -> None:
    publish_on("a")
    command = [*MDREEL, "watch", "--interval", "0.1", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(1 if options == ["--web"] else 3)]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors == ""
    assert all(("a finished" in line) if not options else line for line in lines)


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("options", [[], ["--web"]])
def test_further_signals_do_not_disturb_its_end(folder: Path, options: list[str], first: signal.Signals) -> None:
    publish_on("a")
    command = [*MDREEL, "watch", "--interval", "0.1", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.send_signal(first)
        others = cycle([signal.SIGINT, signal.SIGTERM])
        while process.poll() is None:
            process.send_signal(next(others))
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.005)
        errors = process.communicate(timeout=60)[1]
    # Both signals may have arrived before the process handled one of them.
    assert process.returncode in (0, 143)
    assert errors == ""


def test_closed_pipe_ends_it(folder: Path) -> None:
    publish_on("a")
    process = subprocess.Popen(
        [*MDREEL, "watch", "--interval", "0.1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 141


def test_terminal_shows_channels_that_come_until_ctrl_c(folder: Path) -> None:
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "30"}
    with subprocess.Popen(
        [*MDREEL, "watch", "--interval", "0.1"], stdin=terminal, stdout=terminal, stderr=terminal, env=environment
    ) as process:
        os.close(terminal)
        shown = b""

        def until(words: bytes) -> None:
            nonlocal shown
            while words not in shown:
                assert select.select([controller], [], [], 60)[0], shown
                shown += os.read(controller, 4096)

        until(b"no channels yet")
        publish_on("first")
        until(b"finished")
        Told(folder / "first", Series()).say(n_frames=101)
        until(b"value_0")
        (folder / "torn").mkdir(mode=0o700)
        (folder / "torn" / "ring").write_bytes(b"no ring")
        (folder / "torn").chmod(0o755)
        until(b"unreadable")
        process.send_signal(signal.SIGINT)
        while True:  # until the other end closes
            try:
                if not (more := os.read(controller, 4096)):
                    break
            except OSError:
                break
            shown += more
        assert process.wait(60) == 0
    os.close(controller)
    assert b"Traceback" not in shown
    assert b"\x1b[?25h" in shown  # the cursor is there again
