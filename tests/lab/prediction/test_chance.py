"""What is left to chance has the distribution that it should have."""

from dataclasses import replace

import numpy as np
import pytest

from mdreel_lab.prediction.chance import draw, stalls
from mdreel_lab.prediction.cluster import read_cluster

COMET = read_cluster("comet")


def test_stalls_have_the_share_the_limits_and_the_mean_of_the_storage() -> None:
    drawn = stalls(COMET.storage, np.random.default_rng(1), 400_000)
    held_up = drawn[drawn > 0]
    storage = COMET.storage
    assert len(held_up) / len(drawn) == pytest.approx(storage.stall_probability, rel=0.03)
    assert held_up.min() >= storage.stall_shortest_s
    assert held_up.max() <= storage.stall_longest_s
    assert held_up.mean() == pytest.approx(storage.stall_mean_s, rel=0.02)
    # Pareto's distribution of exponent 1: twice as long is half as frequent, as long as the end is far.
    assert (held_up > 20).sum() / (held_up > 10).sum() == pytest.approx(
        (1 / 20 - 1 / 100) / (1 / 10 - 1 / 100), rel=0.03
    )


def test_stalls_of_one_length_have_it() -> None:
    storage = replace(COMET.storage, stall_shortest_s=5.0, stall_longest_s=5.0)
    drawn = stalls(storage, np.random.default_rng(1), 10_000)
    assert set(np.unique(drawn)) == {0.0, 5.0}
    assert storage.stall_mean_s == 5.0


def test_ranks_differ_as_much_as_the_cluster_says() -> None:
    slowness = draw(COMET, 100_000, 0).slowness
    assert np.log(slowness).std() == pytest.approx(COMET.speed_spread, rel=0.02)
    assert np.log(slowness).mean() == pytest.approx(0.0, abs=1e-3)


def test_rank_that_is_alone_is_as_fast_as_usual() -> None:
    assert draw(COMET, 1, 3).slowness.tolist() == [1.0]


def test_first_ranks_are_the_same_however_many_there_are() -> None:
    few, many = draw(COMET, 10, 5), draw(COMET, 1000, 5)
    np.testing.assert_array_equal(few.slowness, many.slowness[:10])
