"""Tests of the watcher with new, removed, foreign and damaged channels."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from growing_file import N_ATOMS
from mdreel.errors import MismatchError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.producers.producer import Producer
from mdreel.live.watch.rate import Rate
from mdreel.live.watch.snapshot_json import to_json
from mdreel.live.watch.watcher import Watcher
from publishing import publish, said, simulate
from steering_lines import line


def publish_on(name: str, n_frames: int = 3) -> None:
    with Producer(name, N_ATOMS, n_slots=8) as producer:
        for frame in range(n_frames):
            publish(producer, frame)


def states(watcher: Watcher) -> dict[str, str]:
    return {seen.name: seen.state for seen in watcher.take_snapshots()}


def test_channels_that_appear_and_vanish_are_followed(folder: Path) -> None:
    watcher = Watcher()
    assert states(watcher) == {}
    with Producer("b", N_ATOMS, n_slots=8) as producer:
        assert states(watcher) == {"b": "running"}
        publish_on("a")
        publish(producer, 0)
        assert states(watcher) == {"a": "finished", "b": "running"}
    assert states(watcher) == {"a": "finished", "b": "finished"}
    from mdreel.live.channels.channel import Channel

    Channel("a").remove()
    assert states(watcher) == {"b": "finished"}


def test_named_channels_need_not_be_there(folder: Path) -> None:
    watcher = Watcher(["b", "a", "b"])
    assert states(watcher) == {"b": "absent", "a": "absent"}
    publish_on("a")
    assert list(states(watcher).items()) == [("b", "absent"), ("a", "finished")]
    with pytest.raises(MismatchError, match="the name of a channel must be"):
        Watcher(["no name"])


def test_what_cannot_be_looked_at_is_one_line_among_others(folder: Path) -> None:
    publish_on("good")
    publish_on("open")
    (folder / "open").chmod(0o755)
    publish_on("torn")
    (folder / "torn" / "ring").write_bytes(b"no ring")
    (folder / "empty").mkdir(mode=0o700)
    (folder / "file").touch()
    seen = {one.name: one for one in Watcher().take_snapshots()}
    assert {name: one.state for name, one in seen.items()} == {
        "good": "finished",
        "open": "unreadable",
        "torn": "unreadable",
    }
    assert "mode 755" in str(seen["open"].reason)
    assert seen["torn"].reason
    json.dumps([to_json(one, with_curves=True) for one in seen.values()], allow_nan=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who can give files away")
def test_channel_of_another_user_says_so(folder: Path) -> None:
    publish_on("theirs")
    os.chown(folder / "theirs", 12345, 12345)
    (seen,) = Watcher([str(folder / "theirs")]).take_snapshots()
    assert seen.state == "unreadable"
    assert "got 12345" in str(seen.reason)


def test_lag_drops_and_loss_are_seen(folder: Path) -> None:
    watcher = Watcher(["run1"])
    with Producer("run1", N_ATOMS, n_slots=4, full="drop-oldest") as producer:
        with Consumer("run1") as slow, Consumer("run1") as fast:
            for frame in range(3):
                publish(producer, frame)
                assert fast.next(20) is not None
            (seen,) = watcher.take_snapshots()
            assert sorted(seen.lags) == [0, 3]
            for frame in range(3, 20):
                publish(producer, frame)
            assert slow.next(20) is not None
        (seen,) = watcher.take_snapshots()
        assert seen.status is not None
        assert seen.status.n_dropped > 0
        assert seen.lags == ()
    with simulate(folder / "run2", 0, 3, "hang") as process:
        assert [said(process), said(process)] == ["open", "published"]
        process.kill()
    assert Watcher(["run2"]).take_snapshots()[0].state == "lost"


def test_log_of_steering_and_damaged_notices_are_seen(folder: Path) -> None:
    publish_on("run1")
    (folder / "run1" / "steering.jsonl").write_bytes(line(1) + b"torn\n" + line(2)[:9])
    (folder / "run1" / "analyses").mkdir()
    (folder / "run1" / "analyses" / "rmsd-1.jsonl").write_text("nothing\n")
    (seen,) = Watcher().take_snapshots()
    assert [event.message for event in seen.events] == ["number 1"]
    assert seen.n_damaged_events == 1
    (analysis,) = seen.analyses
    assert (analysis.state, analysis.name) == ("unreadable", "rmsd-1.jsonl")
    assert "invalid head of a notice" in str(analysis.reason)


def test_rate_is_the_mean_of_the_last_seconds() -> None:
    rate = Rate()
    assert rate.add(0, 0.0) is None
    assert rate.add(10, 1.0) == 10.0
    found = [rate.add(10 + 20 * second, 1.0 + second) for second in range(1, 30)]
    assert found[-1] == 20.0
    assert rate.add(3, 40.0) is None  # a new run
    assert rate.add(5, 41.0) == 2.0


def test_what_is_kept_of_looks_does_not_grow(folder: Path) -> None:
    publish_on("run1")
    watcher = Watcher()
    for _ in range(1500):
        (seen,) = watcher.take_snapshots()
    assert 300 <= len(seen.history) <= 601
    assert (np.diff(seen.history.column(0)) > 0).all()


def test_slow_simulation_has_a_rate(folder: Path) -> None:
    rate = Rate()
    found = [rate.add(second // 5, float(second)) for second in range(60)]
    assert all(one is not None and 0.1 <= one <= 0.31 for one in found[20:])
