"""ADIOS2's SST between a simulation and an analysis, on one node and between nodes."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mdreel_lab.bench.exchange.measures import time_of
from mdreel_lab.bench.exchange.regions import CONSUME, IDLE, MOVEMENT, PRODUCE
from mdreel_lab.bench.plans import plan_of
from mdreel_lab.bench.records import DONE
from mdreel_lab.bench.rigs.hosts import why_there_are_none

Bench = Callable[..., "subprocess.CompletedProcess[str]"]

pytest.importorskip("adios2", reason="not installed: adios2")

SCENARIO = """
kind = "exchange"
title = "SST"
placement = "{placement}"

[small]
frames = 4
pairs = [1, 2]
pairs-per-node = 1
speed = 50

[[way]]
solution = "sst"
"""


@pytest.mark.parametrize("placement", ["one-node", "nodes"])
def test_every_frame_arrives_whole_and_in_order(tmp_path: Path, bench: Bench, placement: str) -> None:
    if placement == "nodes" and (why_not := why_there_are_none()):
        pytest.skip(why_not)
    (tmp_path / "mine.toml").write_text(SCENARIO.format(placement=placement))
    done = bench(tmp_path, "run", "mine.toml", "-o", "out")
    assert done.returncode == 0, done.stderr
    records = plan_of(tmp_path / "out", "mine")[2]
    assert [(kept.status, kept.message) for kept in records] == [(DONE, "")] * 2
    for kept in records:
        # The analysis checks the number and the content of each frame.
        assert len(kept.facts["pairs"]) == kept.point.n_pairs
        for pair in kept.facts["pairs"]:
            for role in (PRODUCE, CONSUME):
                assert len(pair[role]["when"]) == 4
                assert (time_of(pair, role, MOVEMENT) > 0).all()
            assert (time_of(pair, CONSUME, IDLE) > 0).all()
