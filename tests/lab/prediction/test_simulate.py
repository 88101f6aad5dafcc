"""Simulated runs: laws that every run obeys, and times that can be told in the head."""

from dataclasses import replace

import numpy as np
import pytest

from lab.prediction.machines import FRAMES, even_cluster
from mdreel.errors import MismatchError
from mdreel_lab.prediction.cluster import read_cluster
from mdreel_lab.prediction.schemes import SCHEMES
from mdreel_lab.prediction.simulate import Simulated, scaling, simulate
from mdreel_lab.prediction.stage import targets_per_s

COMET = read_cluster("comet")
EVERY_SCHEME = pytest.mark.parametrize("scheme", SCHEMES)


@EVERY_SCHEME
@pytest.mark.parametrize("n_ranks", [1, 2, 24, 61])
def test_observables_are_those_of_the_definitions(scheme: str, n_ranks: int) -> None:
    simulated = simulate(COMET, FRAMES, SCHEMES[scheme], n_ranks, seed=3)
    of = simulated.observables
    np.testing.assert_allclose(of.t_n, of.t_block + of.t_comm, atol=1e-9)
    np.testing.assert_allclose(of.t_block, of.t_open + of.t_all_frames + of.overhead2, atol=1e-9)
    np.testing.assert_allclose(of.t_all_frames, of.t_io + of.t_comp + of.t_end_loop + of.overhead1, atol=1e-9)
    for name in (
        "t_open",
        "t_io",
        "t_decompress",
        "t_comp",
        "t_end_loop",
        "t_comm",
        "t_transfer",
        "t_comm_wait",
        "t_wait",
        "overhead1",
        "overhead2",
    ):
        assert (getattr(of, name) > -1e-9).all(), name
    assert (of.t_idle >= 0).all()
    np.testing.assert_allclose(of.t_comm, of.t_transfer + of.t_comm_wait, atol=1e-9)
    assert simulated.t_total == pytest.approx(of.t_n.max())
    assert of.t_total == simulated.t_total
    assert len(of.ranks) == n_ranks


@EVERY_SCHEME
@pytest.mark.parametrize("n_ranks", [1, 7, 50])
def test_every_frame_and_every_byte_is_read_once(scheme: str, n_ranks: int) -> None:
    simulated = simulate(COMET, FRAMES, SCHEMES[scheme], n_ranks, seed=1)
    of = simulated.observables
    assert of.n_frames.sum() == FRAMES.n_frames
    n_read = 0 if SCHEMES[scheme].access == "memory" else FRAMES.n_frames * FRAMES.frame_bytes
    assert of.n_bytes.sum() == pytest.approx(n_read, abs=n_ranks)
    away = of.n_frames[COMET.cores_per_node :].sum() * FRAMES.result_bytes
    given_up = 0.5 * n_read if simulated.n_copies else 0.0
    messages = 0.0 if SCHEMES[scheme].communication == "global-arrays" else away
    assert n_read + messages - 1 <= simulated.n_bytes <= n_read + messages + given_up + 1


@EVERY_SCHEME
def test_one_seed_gives_one_result_and_another_another(scheme: str) -> None:
    first, again, other = (simulate(COMET, FRAMES, SCHEMES[scheme], 60, seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.observables.t_n, again.observables.t_n)
    assert (first.observables.t_n != other.observables.t_n).any()


@EVERY_SCHEME
def test_one_rank_takes_what_the_workload_takes(scheme: str) -> None:
    taken = simulate(COMET, FRAMES, SCHEMES[scheme], 1).observables
    network, storage = COMET.interconnect, COMET.storage
    sent = 2 * network.message_s + FRAMES.n_frames * FRAMES.result_bytes / network.array_bytes_per_s
    expected = FRAMES.opening_s + FRAMES.n_frames * FRAMES.frame_s
    assert expected - 1e-9 <= taken.t_total <= expected + storage.close_s + sent + 1e-9
    assert taken.t_comp[0] == pytest.approx(FRAMES.n_frames * FRAMES.compute_s)


@EVERY_SCHEME
def test_ranks_of_one_node_without_chance_divide_the_frames(scheme: str) -> None:
    simulated = simulate(even_cluster(), FRAMES, SCHEMES[scheme], 4).observables
    alone = FRAMES.n_frames * FRAMES.frame_s / 4
    assert alone <= simulated.t_total <= 1.2 * alone + 1.5


@pytest.mark.parametrize(
    ("name", "factor"),
    [("connect_s", 3.0), ("message_s", 3.0), ("latency_s", 1e5), ("link_bytes_per_s", 1e-3)],
)
def test_slower_network_makes_no_run_quicker(name: str, factor: float) -> None:
    slower = replace(
        COMET, interconnect=replace(COMET.interconnect, **{name: factor * getattr(COMET.interconnect, name)})
    )
    for scheme in ("shared-gather", "segments-gather", "segments-global-arrays", "hdf5-independent"):
        quick, slow = (simulate(cluster, FRAMES, SCHEMES[scheme], 72).t_total for cluster in (COMET, slower))
        assert slow >= quick - 1e-9, scheme


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("opens_per_s", 1e-3),
        ("open_s", 2.0),
        ("close_s", 2.0),
        ("shared_frame_s", 2.0),
        ("chain_frame_s", 2.0),
        ("target_bytes_per_s", 1e-2),
        ("stall_probability", 5.0),
        ("stall_shortest_s", 3.0),
    ],
)
def test_slower_file_system_makes_no_run_quicker(name: str, factor: float) -> None:
    slower = replace(COMET, storage=replace(COMET.storage, **{name: factor * getattr(COMET.storage, name)}))
    for scheme in ("shared-gather", "segments-gather", "chain-gather", "hdf5-independent"):
        quick, slow = (simulate(cluster, FRAMES, SCHEMES[scheme], 72).t_total for cluster in (COMET, slower))
        assert slow >= quick - 1e-9, scheme


def test_more_frames_take_longer() -> None:
    times = [simulate(COMET, FRAMES.of_length(n), SCHEMES["shared-gather"], 48).t_total for n in (48, 1000, 100_000)]
    assert times == sorted(times)


def test_targets_limit_how_fast_frames_are_read() -> None:
    cluster = even_cluster(n_targets=4, n_stripes=2, target_bytes_per_s=1e6)
    n_bytes = FRAMES.n_frames * FRAMES.frame_bytes
    for scheme, n_targets in (("shared-gather", 2), ("segments-gather", 4)):
        assert targets_per_s(cluster, SCHEMES[scheme], 48) == n_targets * 1e6
        taken = simulate(cluster, FRAMES, SCHEMES[scheme], 48).observables
        assert taken.t_all_frames.max() == pytest.approx(n_bytes / (n_targets * 1e6), rel=0.02)


def test_link_of_a_node_limits_how_fast_its_ranks_read() -> None:
    cluster = even_cluster()
    narrow = replace(cluster, interconnect=replace(cluster.interconnect, link_bytes_per_s=1e6))
    taken = simulate(narrow, FRAMES, SCHEMES["segments-global-arrays"], 24).observables
    assert taken.t_all_frames.max() == pytest.approx(FRAMES.n_frames * FRAMES.frame_bytes / 1e6, rel=0.02)


def test_chain_opens_every_segment_on_every_rank() -> None:
    cluster = even_cluster()
    taken = simulate(cluster, FRAMES, SCHEMES["chain-global-arrays"], 48).observables
    np.testing.assert_allclose(taken.t_open, FRAMES.opening_s + 47 * cluster.storage.open_s)
    np.testing.assert_allclose(taken.t_end_loop, 48 * cluster.storage.close_s)
    # 48 x 48 openings, of which the server does 100 in a second.
    slow = simulate(even_cluster(opens_per_s=100.0), FRAMES, SCHEMES["chain-global-arrays"], 48).observables
    assert slow.t_open.max() == pytest.approx(48 * 48 / 100.0, rel=1e-6)


def test_gather_connects_one_rank_of_another_node_after_the_other() -> None:
    cluster = even_cluster()
    taken = simulate(cluster, FRAMES, SCHEMES["memory-gather"], 60).observables
    network = cluster.interconnect
    after = taken.t_total - taken.t_block.max()
    assert after == pytest.approx(36 * (network.connect_s + network.latency_s) + 59 * network.message_s, rel=0.01)
    # Ranks are received from in their order.
    assert (np.diff(taken.t_n[1:]) > 0).all()


def test_gather_of_small_blocks_takes_a_tree() -> None:
    few = FRAMES.of_length(6000)
    cluster = even_cluster()
    taken = simulate(cluster, few, SCHEMES["memory-gather"], 96).observables
    after = taken.t_total - taken.t_block.max()
    network = cluster.interconnect
    most = 7 * (network.connect_s + network.message_s + network.latency_s) + 1e-3
    assert network.connect_s < after < most


def test_parallel_hdf5_is_connected_before_results_are_gathered() -> None:
    taken = simulate(even_cluster(), FRAMES, SCHEMES["hdf5-independent"], 60).observables
    assert taken.t_comm.max() < 60 * 1.1 * COMET.interconnect.message_s


def test_nothing_is_held_up_on_one_node_or_in_files_of_ranks() -> None:
    certain = replace(COMET, storage=replace(COMET.storage, stall_probability=0.999))
    for scheme, n_ranks in (("shared-gather", 24), ("segments-gather", 72), ("memory-gather", 72)):
        with_stalls, without = (simulate(cluster, FRAMES, SCHEMES[scheme], n_ranks) for cluster in (certain, COMET))
        assert with_stalls.t_total == without.t_total, scheme
    held_up = simulate(certain, FRAMES, SCHEMES["shared-gather"], 60)
    assert held_up.t_total > 36 * COMET.storage.stall_shortest_s


def test_copies_of_late_blocks_help_when_a_rank_is_slow() -> None:
    uneven = replace(even_cluster(), speed_spread=0.9)
    long = FRAMES.of_length(400_000)
    alone, copied = (simulate(uneven, long, SCHEMES[name], 24, seed=4) for name in ("one-opening", "mdreel"))
    assert alone.n_copies == 0
    assert copied.n_copies > 0
    assert copied.t_total < alone.t_total
    assert copied.observables.n_frames.sum() == long.n_frames


def test_blocks_on_demand_level_ranks_that_differ() -> None:
    uneven = replace(even_cluster(), speed_spread=0.5)
    long = FRAMES.of_length(400_000)
    static, demand = (simulate(uneven, long, SCHEMES[name], 24, seed=2) for name in ("shared-gather", "demand"))
    assert demand.t_total < 0.8 * static.t_total


def test_collective_reading_keeps_all_ranks_at_the_pace_of_the_slowest() -> None:
    taken = simulate(COMET, FRAMES, SCHEMES["hdf5-collective"], 24, seed=8).observables
    independent = simulate(COMET, FRAMES, SCHEMES["hdf5-independent"], 24, seed=8).observables
    assert np.ptp(taken.t_all_frames) < 0.01 * taken.t_all_frames.max()
    assert taken.t_all_frames.min() >= independent.t_all_frames.max() * 0.999


@pytest.mark.parametrize("scheme", ["shared-gather", "segments-global-arrays", "hdf5-independent"])
@pytest.mark.parametrize("bytes_per_s", [1e9, 6e6, 2e6])
def test_one_flow_for_a_block_is_what_single_frames_come_to(scheme: str, bytes_per_s: float) -> None:
    """At 1 GB/s nobody waits for bytes; 6 MB/s are just what 6 ranks ask for; at 2 MB/s all wait."""
    cluster = replace(COMET, storage=replace(COMET.storage, n_targets=1, n_stripes=1, target_bytes_per_s=bytes_per_s))
    few = replace(FRAMES, n_frames=1800, frame_bytes=1000.0)
    whole, single = (simulate(cluster, few, SCHEMES[scheme], 6, each_frame=each) for each in (False, True))
    # In between, frames that are asked for at the same moment wait for each other, which an even flow does not know.
    tolerance = 0.3 if bytes_per_s == 6e6 else 0.03
    assert whole.t_total == pytest.approx(single.t_total, rel=tolerance)
    assert whole.observables.n_bytes.sum() == single.observables.n_bytes.sum()
    np.testing.assert_allclose(whole.observables.t_comp, single.observables.t_comp)


@pytest.mark.parametrize("scheme", ["shared-gather", "hdf5-independent", "mdreel"])
def test_ten_thousand_ranks_can_be_simulated(scheme: str) -> None:
    many = FRAMES.of_length(200_000)
    simulated = simulate(COMET, many, SCHEMES[scheme], 10_000)
    assert simulated.observables.n_frames.sum() == many.n_frames
    assert len(simulated.observables.t_n) == 10_000
    assert np.isfinite(simulated.t_total)


@pytest.mark.parametrize("n_ranks", [0, -3, 12_001])
def test_impossible_numbers_of_ranks_are_refused(n_ranks: int) -> None:
    with pytest.raises(MismatchError, match=r"cannot be simulated: 1 to 12,000 for 12,000 frames"):
        simulate(COMET, FRAMES, SCHEMES["shared-gather"], n_ranks)


def test_scaling_compares_with_one_rank() -> None:
    found = scaling(even_cluster(), FRAMES, SCHEMES["segments-global-arrays"], [1, 2, 4], n_repeats=2)
    assert found.t_total.shape == (3, 2)
    assert found.speedup[0] == pytest.approx(1.0)
    assert (np.diff(found.speedup) > 0).all()
    np.testing.assert_allclose(found.efficiency, found.speedup / [1, 2, 4])
    assert (found.speedup_deviation == 0).all()
    assert isinstance(simulate(even_cluster(), FRAMES, SCHEMES["mdreel"], 2), Simulated)
