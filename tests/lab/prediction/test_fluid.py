"""Flows share links as queueing theory says, and move what they are given."""

from collections.abc import Iterator

import numpy as np
import pytest
import simpy

from mdreel_lab.prediction.fluid import Fluid


def ends(fluid: Fluid, environment: simpy.Environment, flows: list[tuple[float, int, float, float]]) -> list[float]:
    """When flows are over that begin at a time, on a link, take so long alone and move so much."""
    times = [0.0] * len(flows)

    def flow(number: int, start: float, link: int, seconds: float, amount: float) -> Iterator[simpy.Event]:
        yield environment.timeout(start)
        yield fluid.start(link, seconds, amount).done
        times[number] = environment.now

    for number, (start, link, seconds, amount) in enumerate(flows):
        environment.process(flow(number, start, link, seconds, amount))
    environment.run()
    return times


def test_flow_takes_its_time_alone() -> None:
    environment = simpy.Environment()
    assert ends(Fluid(environment, 1, 100.0, np.inf), environment, [(1.0, 0, 2.0, 200.0)]) == [pytest.approx(3.0)]


def test_flows_that_ask_for_more_than_the_link_carries_are_slowed_down_alike() -> None:
    environment = simpy.Environment()
    fluid = Fluid(environment, 1, 100.0, np.inf)
    # Both ask for 100/s. The first is alone for 1 s, then both have half; the second has the link for its last half.
    assert ends(fluid, environment, [(0.0, 0, 2.0, 200.0), (1.0, 0, 1.5, 150.0)]) == pytest.approx([3.0, 3.5])


def test_flows_that_leave_the_link_room_do_not_disturb_each_other() -> None:
    environment = simpy.Environment()
    fluid = Fluid(environment, 1, 100.0, np.inf)
    assert ends(fluid, environment, [(0.0, 0, 2.0, 100.0), (0.5, 0, 1.0, 50.0)]) == pytest.approx([2.0, 1.5])


def test_pool_behind_the_links_slows_down_flows_of_all_links() -> None:
    environment = simpy.Environment()
    fluid = Fluid(environment, 4, 100.0, 200.0)
    assert ends(fluid, environment, [(0.0, link, 1.0, 100.0) for link in range(4)]) == pytest.approx([2.0] * 4)


def test_flow_past_the_pool_is_slowed_down_by_its_link_only() -> None:
    environment = simpy.Environment()
    fluid = Fluid(environment, 2, 100.0, 50.0)
    over = []

    def past() -> Iterator[simpy.Event]:
        yield fluid.start(0, 1.0, 100.0, through_pool=False).done
        over.append(environment.now)

    environment.process(past())
    assert ends(fluid, environment, [(0.0, 1, 1.0, 100.0)]) == pytest.approx([2.0])
    assert over == pytest.approx([1.0])


def test_stopped_flow_leaves_its_share_to_the_others() -> None:
    environment = simpy.Environment()
    fluid = Fluid(environment, 1, 100.0, np.inf)

    def stopping() -> Iterator[simpy.Event]:
        flow = fluid.start(0, 10.0, 1000.0)
        yield environment.timeout(1.0)
        fluid.stop(flow)
        fluid.stop(flow)

    environment.process(stopping())
    # Half of the link for 1 s, then all of it.
    assert ends(fluid, environment, [(0.0, 0, 2.0, 200.0)]) == pytest.approx([2.5])
    assert fluid.moved == pytest.approx(250.0)


def test_flow_of_no_time_is_over_at_once() -> None:
    environment = simpy.Environment()
    fluid = Fluid(environment, 1, 100.0, np.inf)
    assert ends(fluid, environment, [(0.5, 0, 0.0, 7.0)]) == [0.5]
    assert fluid.moved == 7.0


@pytest.mark.parametrize("seed", range(5))
def test_what_is_moved_is_what_was_given(seed: int) -> None:
    generator = np.random.default_rng(seed)
    environment = simpy.Environment()
    fluid = Fluid(environment, 3, 100.0, 150.0)
    amounts = generator.uniform(1, 500, 200)
    flows = [
        (float(start), int(link), float(seconds), float(amount))
        for start, link, seconds, amount in zip(
            generator.uniform(0, 50, 200),
            generator.integers(0, 3, 200),
            generator.uniform(0.1, 3, 200),
            amounts,
            strict=True,
        )
    ]
    times = ends(fluid, environment, flows)
    assert fluid.moved == pytest.approx(amounts.sum())
    assert all(time >= start + seconds - 1e-6 for time, (start, _, seconds, _) in zip(times, flows, strict=True))
    # Nothing is faster than the pool.
    assert max(times) >= amounts.sum() / 150.0


@pytest.mark.parametrize("service", ["exponential", "constant", "heavy"])
def test_mean_time_in_a_processor_sharing_queue_is_that_of_theory(service: str) -> None:
    """M/G/1 processor sharing: E[T] = E[S] / (1 - load), whatever the distribution of S (Kleinrock 1976)."""
    generator = np.random.default_rng(7)
    n, load = 8_000, 0.6
    starts = np.cumsum(generator.exponential(1.0 / load, n))
    sizes = {
        "exponential": generator.exponential(1.0, n),
        "constant": np.ones(n),
        "heavy": generator.choice([0.5, 5.5], n, p=[0.9, 0.1]),
    }[service]
    environment = simpy.Environment()
    flows = [(float(at), 0, float(size), 100.0 * float(size)) for at, size in zip(starts, sizes, strict=True)]
    taken = np.array(ends(Fluid(environment, 1, 100.0, np.inf), environment, flows)) - starts
    assert taken.mean() == pytest.approx(1.0 / (1.0 - load), rel=0.08)
