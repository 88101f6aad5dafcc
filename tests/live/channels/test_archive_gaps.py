"""Tests of archives that have missed frames, which say so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import archivers_killed_at_random
import mdreel
from growing_file import N_ATOMS
from live.channels.test_archive import ARCHIVING, check_frames
from mdreel.errors import StreamError
from mdreel.live.archives.options import part_path
from mdreel.live.channels.epochs import first_sequence_of_run
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.producer import Producer
from publishing import publish, running, said

N_SEEDS = 200 if os.environ.get("MDREEL_SLOW_TESTS") else 4


def test_archiver_that_is_killed_before_its_first_commit_says_what_its_successor_has_missed(tmp_path: Path) -> None:
    path = tmp_path / "run.h5md"
    with Producer("run", N_ATOMS, n_slots=8, full="drop-oldest") as producer:
        publish(producer, 0)
        archiving = ARCHIVING.replace("COMMIT_SECONDS = 0.01", "COMMIT_SECONDS = 100.0")
        with running([sys.executable, "-c", archiving, path, "1"]) as process:
            assert said(process) == "begun"
            process.kill()
        for frame in range(1, 40):
            publish(producer, frame)
    with pytest.raises(StreamError, match=r"32 frames before step 320 were overwritten .*; 0 frames are kept in"):
        mdreel.live.archive("run", path)
    assert not path.exists()
    archived = mdreel.live.archive("run", path, on_missed="skip")
    assert (archived.n_frames, archived.n_missed) == (8, 32)


@pytest.mark.parametrize("has_ended", [False, True])
def test_archive_that_joins_late_says_what_it_has_missed(tmp_path: Path, has_ended: bool) -> None:
    producer = Producer("run", N_ATOMS, n_slots=8, full="drop-oldest").open()
    for frame in range(40):
        publish(producer, frame)
    if has_ended:
        producer.end()
    with pytest.raises(StreamError, match=r"32 frames before step 320 were overwritten .*on_missed='skip'"):
        mdreel.live.archive("run", tmp_path / "run.h5md", timeout=0.1)
    assert not part_path(tmp_path / "run.h5md").exists()
    producer.end()
    assert mdreel.live.archive("run", tmp_path / "run.h5md", on_missed="skip").n_missed == 32
    # The number is a part of the archive, so that a restarted archiver repeats it.
    assert mdreel.live.archive("run", tmp_path / "run.h5md", on_missed="skip").n_missed == 32


def test_archive_that_has_missed_the_middle_keeps_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "run.h5md"
    with Producer("run", N_ATOMS, n_slots=8, full="drop-oldest") as producer:
        publish(producer, 0)
        with running([sys.executable, "-c", ARCHIVING, path, "5"]) as process:
            for frame in range(1, 5):
                publish(producer, frame)
            assert said(process) == "begun"
            process.kill()
        for frame in range(5, 40):
            publish(producer, frame)
    with pytest.raises(StreamError, match=r"frames (before step|between steps \d+ and) 320 were .* frames are kept in"):
        mdreel.live.archive("run", path)
    archived = mdreel.live.archive("run", path, on_missed="skip")
    assert archived.n_frames + archived.n_missed == 40


def test_frames_of_earlier_runs_and_repeated_frames_are_not_missed(tmp_path: Path) -> None:
    runs: list[tuple[int | None, int, int]] = [(None, 0, 20), (None, 0, 12), (100, 10, 15), (0, 0, 9)]
    firsts = []
    for number, (resume_step, first, end) in enumerate(runs):
        with Producer("run", N_ATOMS, n_slots=32, full="drop-oldest", resume_step=resume_step) as producer:
            firsts.append(first_sequence_of_run(producer.path))
            for frame in range(first, end):
                publish(producer, frame)
        archived = mdreel.live.archive("run", tmp_path / f"{number}.h5md", group=f"of{number}")
        assert (archived.n_frames, archived.n_missed) == (end, 0)
        check_frames(archived.path, end)
    assert firsts == [0, 20, 20, 37]


def test_first_frames_of_a_later_run_are_missed(tmp_path: Path) -> None:
    for _ in range(2):
        with Producer("run", N_ATOMS, n_slots=8, full="drop-oldest") as producer:
            for frame in range(20):
                publish(producer, frame)
    with pytest.raises(StreamError, match="12 frames before step 120 were overwritten"):
        mdreel.live.archive("run", tmp_path / "run.h5md")


def test_late_archive_with_staging_has_all_frames(tmp_path: Path) -> None:
    with Producer("run", N_ATOMS, n_slots=4, staging=Staging(tmp_path / "staging")) as producer:
        for frame in range(40):
            publish(producer, frame)
    assert mdreel.live.archive("run", tmp_path / "run.h5md").n_missed == 0
    check_frames(tmp_path / "run.h5md", 40)


def test_archivers_that_are_killed_at_random_archive_all_frames_or_say_what_is_missing(tmp_path: Path) -> None:
    command = [sys.executable, archivers_killed_at_random.__file__, "0", str(N_SEEDS), tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    n_whole, n_gaps = map(int, done.stdout.split())
    assert n_whole >= N_SEEDS // 2  # those with staging
    assert n_whole + n_gaps == N_SEEDS
