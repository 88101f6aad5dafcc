"""Ensembles of 64 replicas, of which the test kills a tenth."""

import os
import random
import re
import signal
import sys
from pathlib import Path

import pytest

from live.ensemble.conftest import Walks, wait_for
from live.ensemble.test_again import standing
from mdreel.live.channels.status import Status

REPLICAS = 64
KILLED = 7
FRAMES = 60
MOST_BYTES = 4 << 30

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def proportional_bytes(process: int) -> int:
    """Return the proportional set size of a process, bytes."""
    found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{process}/smaps_rollup").read_text(), re.MULTILINE)
    assert found is not None
    return 1024 * int(found[1])


def ring_bytes(channel: Path) -> int:
    """Return the shared memory of a channel, bytes; 0 if it is being removed."""
    try:
        return Status.read(channel).n_bytes
    except FileNotFoundError:
        return 0


def test_all_of_64_replicas_finish_when_a_tenth_is_killed(walks: Walks) -> None:
    dice = random.Random(64)
    victims = sorted(dice.sample(range(REPLICAS), KILLED))
    # A victim stands still at a frame until it is killed from outside; who goes on from a checkpoint does not.
    frame = dice.randrange(5, FRAMES - 5)
    seeds = [number + 1 for number in victims]
    settings = f"at-once = {REPLICAS}\nrestarts = 1"
    walks.say(REPLICAS, FRAMES, "--hang-at", frame, "--only", *seeds, settings=settings)
    labels = [f"{number:03}" for number in range(REPLICAS)]
    channels = walks.folder / "channels"
    most = 0
    with walks.start(python=sys.executable) as manager:  # whose memory is measured
        left = set(victims)

        def kill() -> bool:
            nonlocal most
            rings = sum(ring_bytes(path) for path in channels.iterdir())
            most = max(most, proportional_bytes(manager.pid) + rings)
            for number in tuple(left):
                if process := standing(walks, labels[number]):
                    os.kill(process, signal.SIGKILL)
                    left.remove(number)
            return not left

        wait_for(kill, "all victims")
        _, said = manager.communicate(timeout=120)
    assert manager.returncode == 0, said
    assert f"{REPLICAS} of {REPLICAS} replicas have finished" in said
    assert [one["n_deaths"] for one in walks.status()] == [int(number in victims) for number in range(REPLICAS)]
    walks.check(labels, FRAMES)
    assert 0 < most < MOST_BYTES
