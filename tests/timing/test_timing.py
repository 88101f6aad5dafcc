"""What a timing says of spans."""

import re

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN
from mdreel.timing.summary import idle_text
from mdreel.timing.timing import Timing
from synthetic_runs import stretched

MS = 1_000_000


@pytest.fixture
def timing() -> Timing:
    kind = KINDS.index
    rows = [
        (kind("open"), NO_BLOCK, COORDINATOR, 0, 1, 0, 0),
        (kind("read"), 0, 0, 1, 3, 10, 2_000_000),
        (kind("compute"), 0, 0, 3, 4, 10, 0),
        (kind("wait"), 1, 1, 1, 2, 0, 0),
        (kind("read"), 1, 1, 2, 5, 10, 2_000_000),
        (kind("compute"), 1, 1, 5, 9, 10, 0),
        (kind("reduce"), NO_BLOCK, COORDINATOR, 9, 10, 20, 0),
    ]
    spans = np.array(rows, SPAN)
    for edge in ("start_ns", "stop_ns"):
        spans[edge] *= MS
    return Timing(spans)


def test_timing_counts_frames_bytes_and_time(timing: Timing) -> None:
    assert (timing.n_frames, timing.n_bytes, timing.n_blocks) == (20, 4_000_000, 2)
    assert timing.wall_seconds == pytest.approx(0.010)
    assert timing.seconds() == pytest.approx(0.013)
    assert timing.seconds("read") == pytest.approx(0.005)


def test_timing_knows_workers_and_blocks(timing: Timing) -> None:
    np.testing.assert_array_equal(timing.workers, [0, 1])
    np.testing.assert_allclose(timing.per_worker(), [0.003, 0.007])
    np.testing.assert_allclose(timing.per_worker("wait"), [0, 0.001])
    np.testing.assert_allclose(timing.per_block("compute"), [0.001, 0.004])


def test_timing_finds_the_straggler(timing: Timing) -> None:
    np.testing.assert_allclose(timing.worker_seconds(), [0.003, 0.008])
    assert timing.stragglers().tolist() == []  # 8 ms are less than 1.5 times the median of 5.5 ms
    late = timing.spans.copy()
    late["stop_ns"][5] = 20 * MS
    assert Timing(late).stragglers().tolist() == [1]


def test_timing_of_a_long_run_sums_up_in_three_lines(timing: Timing) -> None:
    first, second, third = Timing(stretched(timing.spans, 1000)).summary().splitlines()
    assert first == "20 frames in 10 s on 2 threads: 2 frames/s, 0.0004 GB/s of file"
    assert second == "open 10 %  read 34 %  decompress 0 %  compute 38 %  wait 8 %  reduce 10 %"
    bottleneck = "bottleneck: computing, 38 % of the time"
    assert third == f"{bottleneck}; slowest worker 1.45x the median; no stragglers"


def test_timing_of_a_short_run_sums_up_in_one_line_without_a_verdict(timing: Timing) -> None:
    assert str(timing) == "This run took 0.01 s; 20 frames on 2 threads, 2,000 frames/s, 0.4 GB/s of file"
    behind = timing.preceded_by("topology", 3.0)
    assert behind.summary() == f"{timing.summary()}; topology 3 s before"
    assert (timing.bottleneck.kind, len(timing.observables.ranks)) == ("compute", 2)


def test_summary_gives_the_reason_for_fewer_workers_than_requested(timing: Timing) -> None:
    def workers(n_requested: int) -> str:
        text = Timing(timing.spans, n_requested=n_requested).preceded_by("topology", 1.0).summary()
        return text.partition(" frames on ")[2].partition(",")[0]

    assert (workers(0), workers(1), workers(2)) == ("2 threads",) * 3
    assert workers(8) == "2 of 8 threads (the frames are in 2 blocks)"
    assert idle_text(n_workers=1, n_requested=2, n_blocks=16) == " (too few frames to share)"
    assert idle_text(n_workers=1, n_requested=9, n_blocks=5) == " (too few frames to share)"


@pytest.mark.parametrize(
    "options", [{"n_workers": 3}, {"backend": mdreel.Threads(3)}, {"n_workers": 3, "backend": "processes"}]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_run_gives_the_reason_for_fewer_workers_than_requested(options: dict) -> None:
    rmsd = mdreel.RMSD(MDAnalysis.Universe(PSF, DCD), select="name CA").run(stop=3, n_parts=1, **options)
    assert re.search(r"on 1 of 3 (threads|processes) \(the frames are in 1 block\), ", rmsd.timing.summary())
    assert "of" not in rmsd.run(stop=3, n_parts=1).timing.summary().partition(",")[0]


def test_timing_is_short_below_two_seconds(timing: Timing) -> None:
    assert Timing(stretched(timing.spans, 199)).is_short
    assert not Timing(stretched(timing.spans, 200)).is_short


def test_timing_of_nothing_is_nothing() -> None:
    timing = Timing(np.empty(0, SPAN))
    assert (timing.n_frames, timing.n_blocks, timing.seconds(), len(timing.per_block())) == (0, 0, 0.0, 0)
    assert timing.summary() == "This run took 0 s; 0 frames on 1 thread, 0 frames/s, 0 GB/s of file"
    assert timing.table().splitlines()[0].startswith("worker (ms)")


def test_timing_of_runs_in_a_row_is_their_sum(timing: Timing) -> None:
    both = Timing.in_a_row([timing, Timing(np.empty(0, SPAN)), timing])
    assert (both.n_frames, both.n_bytes, both.n_blocks) == (40, 8_000_000, 4)
    assert both.wall_seconds == pytest.approx(2 * timing.wall_seconds)
    assert both.seconds() == pytest.approx(2 * timing.seconds())
    np.testing.assert_allclose(both.per_block("compute"), np.tile(timing.per_block("compute"), 2))
    assert timing.n_blocks == 2
    assert Timing.in_a_row([]).n_blocks == 0


def test_timing_table_has_a_line_for_each_worker_and_the_caller(timing: Timing) -> None:
    head, *rows = timing.table().splitlines()
    assert {len(row) for row in rows[:-1]} == {len(head)}
    assert [row.split()[0] for row in rows] == ["0", "1", "caller"]
