"""Test that the analyses of a replica leave its channel at once when they have all frames that they want."""

import gc
from threading import Thread

import numpy as np
import pytest

from live.ensemble.conftest import Walks
from live.ensemble.walk import BOX, N_ATOMS, N_SLOTS
from mdreel.cli.live.ensemble_file import make_analyses, read_ensemble
from mdreel.live.channels.status import Status
from mdreel.live.ensemble.replica_analyses import ReplicaObserver
from mdreel.live.producers.producer import Producer

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def test_analyses_that_want_no_more_frames_leave_without_the_garbage_collector(walks: Walks) -> None:
    """A manager that waits for other replicas makes so few objects that the collector may never look for old ones."""
    walks.say(1, 40, settings="[run]\nstop = 31\nstep = 3")
    analyses = make_analyses(read_ensemble(walks.folder / "e.toml"))
    channel = walks.folder / "channels" / "walk-000"
    observer = ReplicaObserver(channel, analyses)

    def simulate(producer: Producer) -> None:
        for frame in range(31):
            positions = np.random.default_rng(frame).normal(size=(N_ATOMS, 3)).astype(np.float32)
            producer.publish(positions, 10 * frame, 0.02 * frame, BOX)

    gc.disable()
    try:
        with Producer(channel, N_ATOMS, n_slots=N_SLOTS, time_step=0.002, stride=10, timeout=60) as producer:
            observer.advance()
            simulation = Thread(target=simulate, args=(producer,))
            simulation.start()
            while not observer.has_ended:
                observer.advance()
            simulation.join()
            assert observer.error is None
            assert observer.has_all
            assert Status.read(channel).n_consumers == 0
    finally:
        gc.enable()
