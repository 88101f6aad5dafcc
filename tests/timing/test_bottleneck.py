"""Bottlenecks: what takes most of the time of a run, of workers or of who calls them."""

import numpy as np
import pytest

from mdreel.timing.bottleneck import Bottleneck
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN
from mdreel.timing.timing import Timing


def spans_of(*rows: tuple[str, int, int, int]) -> np.ndarray:
    """Spans of (kind, worker, start, stop); times in ns."""
    return np.array([(KINDS.index(kind), NO_BLOCK, *rest, 1, 0) for kind, *rest in rows], SPAN)


def bottleneck_of(spans: np.ndarray) -> Bottleneck:
    return Timing(spans).bottleneck


@pytest.mark.parametrize("kind", KINDS)
def test_bottleneck_is_what_workers_do_most_of_the_time(kind: str) -> None:
    other = "compute" if kind != "compute" else "read"
    found = bottleneck_of(spans_of((kind, 0, 0, 60), (other, 0, 60, 100), (kind, 1, 0, 60), (other, 1, 60, 100)))
    assert (found.kind, found.share) == (kind, pytest.approx(0.6))
    assert found.sentence.endswith(", 60 % of the time")


def test_time_of_all_workers_counts() -> None:
    found = bottleneck_of(spans_of(("compute", 0, 0, 60), ("read", 0, 60, 100), ("read", 1, 0, 100)))
    assert (found.kind, found.share) == ("read", pytest.approx(0.7))


def test_loading_of_the_topology_before_the_run_is_no_part_of_it() -> None:
    spans = spans_of(("topology", COORDINATOR, 0, 700), ("compute", 0, 700, 760), ("read", 0, 760, 800))
    timing = Timing(spans)
    assert timing.topology_seconds == pytest.approx(700e-9)
    assert timing.run_seconds == pytest.approx(100e-9)
    assert (timing.bottleneck.kind, timing.bottleneck.share) == ("compute", pytest.approx(0.6))


def test_what_the_caller_does_while_no_worker_works_can_be_the_bottleneck() -> None:
    found = bottleneck_of(spans_of(("open", COORDINATOR, 0, 70), ("compute", 0, 70, 100), ("compute", 1, 70, 100)))
    assert (found.kind, found.share) == ("open", pytest.approx(0.7))


def test_workers_that_wait_for_the_writing_show_that_writing_is_the_bottleneck() -> None:
    found = bottleneck_of(spans_of(("write", COORDINATOR, 10, 100), ("compute", 0, 0, 10), ("wait", 0, 10, 100)))
    assert (found.kind, found.share) == ("write", pytest.approx(0.9))


def test_run_does_what_its_last_worker_does_when_the_others_are_done() -> None:
    workers = [("read", worker, 0, 10) for worker in range(1, 4)]
    found = bottleneck_of(spans_of(("compute", 0, 0, 80), ("read", 0, 80, 100), *workers))
    assert (found.kind, found.share) == ("compute", pytest.approx((80 + 3 * 0.8 * 90) / 4 / 100))
    assert found.sentence == "computing, 74 % of the time"


def test_workers_that_wait_for_blocks_wait() -> None:
    found = bottleneck_of(spans_of(("compute", 0, 0, 100), ("compute", 1, 0, 10), ("wait", 1, 10, 100)))
    assert (found.kind, found.share) == ("compute", pytest.approx(0.55))
    assert bottleneck_of(spans_of(("compute", 0, 0, 10), ("wait", 0, 10, 100))).kind == "wait"


def test_bottleneck_of_nothing_is_none() -> None:
    found = bottleneck_of(np.empty(0, SPAN))
    assert (found.kind, found.share, found.sentence) == ("", 0, "nothing was done")
