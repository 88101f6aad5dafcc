"""TaskScheduler: every block is done, whatever happens to workers, and none counts twice."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdreel.execution.executors.tasks import LATE, LEAD_SECONDS, TASK_SECONDS, Task, TaskScheduler


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_blocks=st.integers(0, 400),
    n_workers=st.integers(1, 7),
    is_static=st.booleans(),
    one_by_one=st.booleans(),
    loss=st.sampled_from([0.0, 0.02]),
)
def test_every_block_counts_once_with_workers_of_any_speed_that_may_be_lost(
    seed: int, n_blocks: int, n_workers: int, is_static: bool, one_by_one: bool, loss: float
) -> None:
    chance, clock = random.Random(seed), Clock()
    pace = [chance.choice([0.001, 0.01, 0.1]) for _ in range(n_workers)]
    edges = [0, *sorted(chance.randint(0, n_blocks) for _ in pace[1:]), n_blocks] if is_static else None
    tasks = TaskScheduler([(0, n_blocks)], n_workers, edges, one_by_one, clock)
    under_way: dict[int, list[tuple[Task, float]]] = {worker: [] for worker in range(n_workers)}
    counted = [0] * n_blocks
    n_lost: dict[int, int] = {}
    while not tasks.is_empty:
        for worker, held in under_way.items():
            while (task := tasks.take(worker)) is not None:
                assert len(held) < 2
                assert len(task) == 1 or not one_by_one
                begin = held[0][1] if held else clock.now
                held.append((task, begin + pace[worker] * len(task)))
        worker = min((worker for worker in under_way if under_way[worker]), key=lambda number: under_way[number][0][1])
        (task, at), clock.now = under_way[worker].pop(0), clock.now + 0.03
        if clock.now < at:
            under_way[worker].insert(0, (task, at))
        # No block is lost twice here: that ends a run.
        elif chance.random() < loss and not any(n_lost.get(block) for block in range(task.first, task.end)):
            n_lost.update(dict.fromkeys(range(task.first, task.end), 1))
            assert tasks.failed(task.number) is None
            for waiting, _ in under_way[worker]:
                tasks.returned(waiting.number)
            under_way[worker].clear()
        elif tasks.came(task.number):
            for block in range(task.first, task.end):
                counted[block] += 1
        for held in under_way.values():
            held[:] = [(task, at) for task, at in held if tasks.is_running(task.number)]
    assert counted == [1] * n_blocks


def test_tasks_grow_to_a_fraction_of_a_second_and_shrink_towards_the_end() -> None:
    clock = Clock()
    tasks = TaskScheduler([(0, 10_000)], 2, clock=clock)
    sizes = []
    while (task := tasks.take(0)) is not None:
        sizes.append(len(task))
        clock.now += 0.001 * len(task)
        assert tasks.came(task.number)
    assert sizes[0] == 1
    assert max(sizes) == pytest.approx(TASK_SECONDS / 0.001, rel=0.01)
    assert sizes[-1] == 1
    assert sizes[-20:] == sorted(sizes[-20:], reverse=True)


def test_slow_worker_gets_smaller_tasks() -> None:
    clock = Clock()
    tasks = TaskScheduler([(0, 100_000)], 2, clock=clock)
    sizes = {}
    for worker, pace in ((0, 0.001), (1, 0.01)) * 3:
        task = tasks.take(worker)
        assert task is not None
        sizes[worker] = len(task)
        clock.now += pace * len(task)
        tasks.came(task.number)
    assert sizes[0] == pytest.approx(10 * sizes[1], rel=0.1)


def test_next_task_is_handed_out_shortly_before_a_worker_is_done() -> None:
    clock = Clock()
    tasks = TaskScheduler([(0, 100_000)], 2, clock=clock)
    first = tasks.take(0)
    assert first is not None
    assert tasks.take(0) is None  # nobody knows how long it takes
    clock.now = 0.001
    tasks.came(first.number)
    second = tasks.take(0)
    assert second is not None
    clock.now += 0.001 * len(second) - 1.1 * LEAD_SECONDS
    assert tasks.take(0) is None
    clock.now += 0.2 * LEAD_SECONDS
    third = tasks.take(0)
    assert third is not None
    assert third.first == second.end
    assert tasks.take(0) is None  # one ahead is enough
    clock.now += 0.9 * LEAD_SECONDS
    assert tasks.came(second.number)
    clock.now += 0.001 * len(third) - 0.9 * LEAD_SECONDS
    assert tasks.take(0) is not None  # the time before it was begun does not count


def test_task_that_was_not_begun_is_not_blamed() -> None:
    clock = Clock()
    tasks = TaskScheduler([(0, 4)], 1, one_by_one=True, clock=clock)
    done = tasks.take(0)
    assert done is not None
    clock.now = 0.01
    tasks.came(done.number)
    for _ in range(3):
        begun, ahead = tasks.take(0), tasks.take(0)
        assert begun is not None
        assert ahead is not None
        assert (begun.first, ahead.first) == (1, 2)
        tasks.returned(ahead.number)
        tasks.returned(begun.number)
    while (task := tasks.take(0)) is not None:
        assert tasks.came(task.number)
    assert tasks.is_empty


def test_late_task_is_handed_out_once_more_and_the_first_to_come_counts() -> None:
    clock = Clock()
    tasks = TaskScheduler([(0, 3)], 2, clock=clock)
    slow, quick = tasks.take(0), tasks.take(1)
    assert slow is not None
    assert quick is not None
    clock.now = 1.0
    assert tasks.came(quick.number)
    last = tasks.take(1)
    assert last is not None
    clock.now = 2.0
    assert tasks.came(last.number)
    copy = tasks.take(1)  # the first task is late by now
    assert copy is not None
    assert (copy.first, copy.end) == (slow.first, slow.end)
    assert tasks.take(1) is None  # not a third time
    assert tasks.came(copy.number)
    assert not tasks.is_running(slow.number)
    assert not tasks.came(slow.number)
    assert tasks.is_empty


def test_late_task_is_left_alone_where_each_block_is_to_be_done_once() -> None:
    clock = Clock()
    tasks = TaskScheduler([(0, 2)], 2, one_by_one=True, clock=clock)
    slow, quick = tasks.take(0), tasks.take(1)
    assert slow is not None
    assert quick is not None
    clock.now = 1.0
    assert tasks.came(quick.number)
    clock.now = 100.0
    assert tasks.take(1) is None
    assert not tasks.is_empty


def test_task_that_is_not_late_is_left_alone() -> None:
    clock = Clock()
    tasks = TaskScheduler([(0, 3)], 2, clock=clock)
    first, second = tasks.take(0), tasks.take(1)
    assert first is not None
    assert second is not None
    clock.now = 1.0
    tasks.came(first.number)
    third = tasks.take(0)
    assert third is not None
    clock.now = 2.0
    tasks.came(second.number)
    clock.now = 1.0 + LATE * 1.5  # medians of 1 s and 2 s
    assert tasks.take(1) is None
    clock.now += 0.01
    assert tasks.take(1) is not None


def test_block_that_failed_twice_is_named() -> None:
    tasks = TaskScheduler([(4, 6)], 1, one_by_one=True)
    first = tasks.take(0)
    assert first is not None
    assert tasks.failed(first.number) is None
    again = tasks.take(0)
    assert again is not None
    assert again.first == first.first == 4
    assert tasks.failed(again.number) == 4


def test_blocks_of_a_lost_task_are_done_one_by_one() -> None:
    clock = Clock()
    tasks = TaskScheduler([(0, 1000)], 1, clock=clock)
    task = tasks.take(0)
    assert task is not None
    clock.now = 0.001
    tasks.came(task.number)
    large = tasks.take(0)
    assert large is not None
    assert len(large) > 10
    assert tasks.failed(large.number) is None
    again = tasks.take(0)
    assert again is not None
    assert (again.first, again.end) == (large.first, large.first + 1)


def test_nothing_is_handed_out_behind_the_end() -> None:
    tasks = TaskScheduler([(0, 10)], 2, one_by_one=True)
    kept, useless = tasks.take(0), tasks.take(1)
    assert kept is not None
    assert useless is not None
    tasks.end_at(1)
    assert not tasks.is_running(useless.number)
    assert tasks.take(0) is None
    assert tasks.came(kept.number)
    assert tasks.is_empty


def test_static_shares_are_kept_to_and_nobody_takes_anothers() -> None:
    tasks = TaskScheduler([(0, 4), (10, 16)], 3, [0, 3, 6, 10])
    taken = {}
    for worker in range(3):
        taken[worker] = []
        while (task := tasks.take(worker)) is not None:
            taken[worker] += range(task.first, task.end)
            tasks.came(task.number)
    assert taken == {0: [0, 1, 2], 1: [3, 10, 11], 2: [12, 13, 14, 15]}


def test_nobody_goes_ahead_when_too_much_waits() -> None:
    tasks = TaskScheduler([(0, 4)], 2, one_by_one=True)
    first = tasks.take(0)
    assert first is not None
    assert tasks.take(1, may_go_ahead=False) is None
    tasks.failed(first.number)
    again = tasks.take(1, may_go_ahead=False)  # the others wait for this one
    assert again is not None
    assert again.first == first.first
