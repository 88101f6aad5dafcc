"""Tests of ensembles that are run again after their manager was killed or interrupted."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forked_python.command import forked_python
from full_disk import full_disk
from live.ensemble.conftest import LONGEST_SECONDS, Walks, wait_for
from mdreel.cli.errors import ExitCode
from mdreel.errors import FormatError, MdreelError
from mdreel.live.channels.status import Status
from mdreel.live.ensemble.journal import Journal, read_history
from mdreel.live.notices.process import Process

FRAMES = 150
ENDLESS = 10_000_000
REPLICAS = ["000", "001", "002"]

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def published(walks: Walks, label: str) -> int:
    """Return the number of frames on the channel of a replica."""
    try:
        return Status.read(walks.folder / "channels" / f"walk-{label}").n_published
    except (MdreelError, FileNotFoundError):
        return 0


def processes(walks: Walks) -> list[Process]:
    """Return the processes of running replicas."""
    return [Process.from_id(one["process"]) for one in walks.status() if one["process"] is not None]


def standing(walks: Walks, label: str) -> int | None:
    """Return the process of a walk that has stopped itself, or None while it runs."""
    try:
        producer = Status.read(walks.folder / "channels" / f"walk-{label}").producer
        fields = Path(f"/proc/{producer.process if producer else None}/stat").read_text().rsplit(")", 1)[1].split()
    except (MdreelError, FileNotFoundError):
        return None
    return producer.process if producer and fields[0] == "T" else None


@pytest.mark.parametrize("staging", [True, False])
def test_manager_that_was_killed_is_followed_by_one_that_goes_on(walks: Walks, staging: bool) -> None:
    walks.python = sys.executable
    # Of three replicas one has finished, one stands still at frame 77, and nobody has started the third.
    walks.say(3, FRAMES, "--hang-at", 77, "--only", 2, settings="at-once = 1", staging=staging)
    with walks.start() as manager:
        wait_for(lambda: standing(walks, "001"), "the second replica")
        left = processes(walks)
        manager.kill()
        manager.communicate(timeout=LONGEST_SECONDS)
    assert [one["state"] for one in walks.status()] == ["finished", "running", "waiting"]
    assert len(left) == 1
    before = (walks.place / "results" / "000" / "rmsd.csv").stat().st_mtime_ns
    said = walks.run()
    assert "1 of 3 replicas were done before" in said
    assert ("001 continues from its checkpoint; its analyses start again" in said) == staging
    assert ("001 starts again" in said) != staging
    assert not left[0].is_alive
    walks.check(REPLICAS, FRAMES)
    assert (walks.place / "results" / "000" / "rmsd.csv").stat().st_mtime_ns == before
    went_on = ["started", *["observed"] * (not staging), "finished"]
    assert walks.events("001") == ["started", "observed", "interrupted", *went_on]
    assert walks.events("000") == ["started", "observed", "finished"]
    assert [one["n_deaths"] for one in walks.status()] == [0, 0, 0]  # it was not their fault


def test_second_manager_is_refused_while_the_first_lives(walks: Walks) -> None:
    walks.say(1, ENDLESS)
    with walks.start() as manager:
        try:
            wait_for(lambda: published(walks, "000"), "frames")
            said = walks.run(code=3)
            assert "another `mdreel ensemble run` runs this replica" in said
        finally:
            manager.send_signal(signal.SIGINT)
            manager.communicate(timeout=LONGEST_SECONDS)
    assert manager.returncode == 130


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_replicas_stop_with_a_checkpoint_when_the_manager_is_told_to(walks: Walks, number: int, code: int) -> None:
    walks.say(3, ENDLESS, "--checkpoint-frames", ENDLESS, settings="at-once = 2", staging=True)
    with walks.start() as manager:
        wait_for(lambda: min(published(walks, "000"), published(walks, "001")) > 50, "frames")
        left = processes(walks)
        manager.send_signal(number)
        _, said = manager.communicate(timeout=LONGEST_SECONDS)
    assert manager.returncode == code
    assert "stopping 2 replicas" in said
    assert "Traceback" not in said
    assert len(left) == 2
    assert not any(process.is_alive for process in left)
    assert [one["state"] for one in walks.status()] == ["waiting"] * 3
    # Each was asked, and has kept where it was: it would keep that else behind ten million frames.
    reached = [int((walks.place / label / "state.chk").read_text()) for label in REPLICAS[:2]]
    assert [published(walks, label) for label in REPLICAS[:2]] == reached

    frames = max(reached) + 20
    walks.say(3, frames, settings="at-once = 2", staging=True)
    walks.run()
    walks.check(REPLICAS, frames)
    assert walks.events("001") == ["started", "observed", "interrupted", "started", "finished"]


def test_replicas_that_do_not_listen_are_ended(walks: Walks) -> None:
    walks.say(1, FRAMES, "--hang-at", 20, settings="grace = 0.5", staging=True)
    with walks.start() as manager:
        wait_for(lambda: standing(walks, "000"), "the replica")
        (left,) = processes(walks)
        manager.send_signal(signal.SIGINT)
        manager.communicate(timeout=LONGEST_SECONDS)
    assert manager.returncode == 130
    assert not left.is_alive
    walks.run()
    walks.check(["000"], FRAMES)


def test_second_interrupt_ends_replicas_at_once(walks: Walks) -> None:
    walks.say(1, FRAMES, "--hang-at", 20, settings="grace = 10000", staging=True)
    with walks.start() as manager:
        wait_for(lambda: standing(walks, "000"), "the replica")
        (left,) = processes(walks)
        manager.send_signal(signal.SIGINT)
        assert manager.stderr is not None
        wait_for(lambda: "stopping 1 replicas" in manager.stderr.readline(), "the request to stop")
        manager.send_signal(signal.SIGINT)
        _, said = manager.communicate(timeout=LONGEST_SECONDS)
    assert manager.returncode == 130
    assert "Traceback" not in said
    assert not left.is_alive
    walks.run()
    walks.check(["000"], FRAMES)


def test_full_disk_ends_the_ensemble_and_what_has_finished_goes_on_when_there_is_room(walks: Walks) -> None:
    walks.say(3, FRAMES, settings='results = "small"\nat-once = 2', staging=True)
    small = walks.folder / "small"
    small.mkdir()
    with full_disk(small, kib=16):
        with walks.start() as manager:
            _, said = manager.communicate(timeout=LONGEST_SECONDS)
        assert manager.returncode == ExitCode.OUTPUT
        assert "No space left" in said or "File too large" in said
        assert "Traceback" not in said
        assert not any(process.is_alive for process in processes(walks))
    walks.run()
    (walks.place / "results").symlink_to(small)
    walks.check(REPLICAS, FRAMES)


def test_program_is_found_whose_manager_was_killed_before_it_could_say_its_process(walks: Walks) -> None:
    walks.say(1, FRAMES)
    (walks.place / ".ensemble").mkdir(parents=True)
    (walks.place / "000").mkdir()
    line = {"time": 0.0, "event": "starting", "message": "started", "n_frames": 0, "is_anew": True}
    (walks.place / ".ensemble" / "000.jsonl").write_text(json.dumps(line) + "\n")
    command = [sys.executable, "-c", "input()"]
    stray = {**os.environ, "MDREEL_DIRECTORY": str(walks.place / "000")}
    other = {**os.environ, "MDREEL_DIRECTORY": str(walks.place / "0001")}
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(command, stdin=pipe, env=stray, start_new_session=True) as ended,
        subprocess.Popen(command, stdin=pipe, env=other, start_new_session=True) as left,
    ):
        said = walks.run()
        assert ended.wait(LONGEST_SECONDS) == -signal.SIGKILL
        assert left.poll() is None
        left.kill()
    assert "000 starts again" in said
    walks.check(["000"], FRAMES)
    assert walks.events("000") == ["interrupted", "started", "observed", "finished"]


def test_half_a_line_of_a_journal_is_cut_off(walks: Walks) -> None:
    walks.say(1, FRAMES)
    walks.run()
    journal = walks.place / ".ensemble" / "000.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"time": 17, "eve')
    assert walks.status()[0]["state"] == "finished"
    walks.run()
    assert journal.read_bytes() == whole
    journal.write_bytes(whole + b"nonsense\n")
    assert f"{journal}, line 5: invalid line of a journal" in walks.run(code=3)


def test_process_of_a_journal_is_looked_for_only_where_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "000.jsonl", tmp_path / "boot"
    with Journal(path) as journal:
        journal.write("started", "started", process=Process.current())
    assert read_history(path).process == Process.current()
    other.write_text("another start of the machine")
    with monkeypatch.context() as patched:
        patched.setattr("mdreel.live.ensemble.journal.BOOT", other)
        past = read_history(path)
        assert (past.process, past.is_gone) == (None, True)
    line = json.loads(path.read_text())
    path.write_text(json.dumps(line | {"host": "another"}) + "\n")
    past = read_history(path)
    assert (past.process, past.is_gone) == (None, False)
    for number in (0, 1, -7):  # to signals these are all processes of a group, or of the machine
        path.write_text(json.dumps(line | {"process": number}) + "\n")
        with pytest.raises(FormatError, match="line 1"):
            read_history(path)


def test_status_says_what_has_happened(walks: Walks) -> None:
    walks.say(2, FRAMES, "--die-at", 30, "--only", 2)
    walks.run()
    command = [forked_python(), "-m", "mdreel.cli", "ensemble", "status", "e.toml"]
    done = subprocess.run(command, cwd=walks.folder, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "replica  state     frames  deaths  process  what happened last",
        "000      finished     150                   finished with 150 frames",
        "001      finished     150       1           finished with 150 frames",
        "walk: 2 replicas: 2 finished",
    ]
