"""Tests of channels under random faults on three hosts."""

from pathlib import Path

import pytest

from fault_run.plan import draw
from fault_run.runs import run
from mdreel_lab.bench.rigs.hosts import why_there_are_none

pytest.importorskip("zenoh")

WHY_NOT = why_there_are_none()
SECONDS = 180.0


def test_plan_of_faults_is_the_same_for_the_same_seed() -> None:
    first = draw(3, 0, 600.0)
    assert first == draw(3, 0, 600.0)
    assert {fault.kind for fault in first} == {"kill", "stop", "cut", "fill", "kill-archiver", "kill-host"}
    assert first != draw(4, 0, 600.0)
    assert first != draw(3, 1, 600.0)


@pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))
def test_nothing_is_lost_repeated_torn_or_blocked_under_random_faults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(seed=20261127, seconds=SECONDS, folder=tmp_path, round_seconds=SECONDS)
    assert "0 lost, 0 repeated, 0 torn, 0 hangs, 0 blocked lossy producers" in capsys.readouterr().out
