"""Faults of DYAD and of channels: the script that injects them, without DYAD."""

import os
import re
from pathlib import Path

import pytest

from mdreel_lab.bench.exchange import faults
from mdreel_lab.bench.exchange.catalogue import RING, STAGED
from mdreel_lab.bench.exchange.fault_members import WAITS
from mdreel_lab.bench.exchange.fault_process import DONE, ERROR, IN_PLACE, PARTIAL
from mdreel_lab.bench.exchange.models import MODELS
from mdreel_lab.bench.rigs.hosts import why_there_are_none

PATIENCE = faults.Patience(short=1.0, long=10.0)


def test_partial_file_is_a_partial_frame(tmp_path: Path) -> None:
    with faults.rig(faults.ONE_NODE, "jac", tmp_path) as rig, rig.pair(IN_PLACE) as pair:
        pair.exchange(0)
        (folder,) = rig.folder.glob("run-*/0")
        half = os.urandom(MODELS["jac"].frame_bytes // 2)
        (folder / "1.frame").write_bytes(half)
        pair.consumer.order("get", 1)
        assert pair.consumer.answer(10.0).key == PARTIAL


def test_complete_frame_and_waiting_are_told_apart(tmp_path: Path) -> None:
    with faults.rig(faults.ONE_NODE, "jac", tmp_path) as rig, rig.pair(RING) as pair:
        pair.exchange(0)
        pair.consumer.order("get", 1)
        assert pair.consumer.answer(0.2).key == WAITS
        pair.producer.do("put", 1)
        assert pair.consumer.answer(10.0).key == DONE


@pytest.mark.parametrize("way", [RING, STAGED])
def test_channel_has_no_partial_frames_and_reports_a_dead_producer(way: str, tmp_path: Path) -> None:
    with faults.rig(faults.ONE_NODE, "stmv", tmp_path) as rig:
        # On a busy machine, a call may end before the kill in all attempts, which are then not counted.
        assert not re.search("partial|waits", faults.killed_within_write(rig, way, 2, PATIENCE))
        assert not re.search("partial|waits|error", faults.killed_consumer(rig, way, 2, PATIENCE))
    with faults.rig(faults.ONE_NODE, "jac", tmp_path) as rig:
        assert faults.dead_producer(rig, way, 1, PATIENCE).startswith(f"{ERROR} after ")


def test_nobody_reports_a_dead_producer_of_files(tmp_path: Path) -> None:
    with faults.rig(faults.ONE_NODE, "jac", tmp_path) as rig:
        assert faults.dead_producer(rig, IN_PLACE, 1, faults.Patience(long=2.0)) == "still waits after 2 s"


def test_killed_server_is_found(tmp_path: Path) -> None:
    pytest.importorskip("zenoh")
    if problem := why_there_are_none():
        pytest.skip(problem)
    with faults.rig(faults.NODES, "jac", tmp_path) as rig:
        told = faults.producers_broker_killed(rig, RING, 1, faults.Patience(short=1.0, long=6.0))
    assert told.startswith("producer: complete")
