"""Which frames a time window holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdreel.errors import FrameIndexError, MdreelWarning, MismatchError
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.window import TimeWindow, frames_in_window


def test_window_holds_first_and_last_time():
    frames = TimeWindow(3.0, 7.0, None).frames(np.arange(10.0))
    assert frames.tolist() == [3, 4, 5, 6, 7]


def test_window_counts_the_interval_from_its_first_frame():
    # gmx trjconv -b 6 -dt 3 on frames at 5, 6, ..., 25 ps writes 6, 9, ..., 24; and -dt 2 writes 5, 7, ..., 25.
    times = np.arange(5.0, 26.0)
    assert times[TimeWindow(6.0, None, 3.0).frames(times)].tolist() == [6, 9, 12, 15, 18, 21, 24]
    assert times[TimeWindow(None, None, 2.0).frames(times)].tolist() == list(range(5, 26, 2))


def test_interval_that_leaves_wider_gaps_gives_a_warning():
    times = np.arange(98.0)
    with pytest.warns(MdreelWarning, match=r"the chosen frames are 3 ps apart, not 0\.3 ps: .*choose a multiple"):
        assert TimeWindow(None, None, 0.3).frames(times).tolist() == list(range(0, 98, 3))
    # Neither a trajectory with wider gaps than the interval nor an interval beyond its end leaves out what was wanted.
    assert len(TimeWindow(None, None, 0.5).frames(times)) == 98
    assert len(TimeWindow(None, None, 1000.0).frames(times)) == 1


def test_window_holds_all_frames_without_limits():
    assert TimeWindow(None, None, None).frames(np.arange(4.0)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("spacing", [0.9999999119, 0.1, 2.0 / 3.0, 10.0])
@pytest.mark.parametrize("first", [0.0, 1.0, 100.0])
def test_window_knows_multiples_in_spite_of_rounding(spacing, first):
    times = first + np.arange(2_000) * spacing
    rounded = times.astype(np.float32).astype(np.float64)
    begin, end = times[10], times[1_010]
    frames = TimeWindow(begin, end, 25 * spacing).frames(rounded)
    assert frames.tolist() == list(range(10, 1_011, 25))


def test_window_knows_round_times_of_a_dcd_file_whose_step_is_not_quite_round():
    times = np.arange(98) * 0.9999999119  # AdK
    assert TimeWindow(10.0, 90.0, 10.0).frames(times).tolist() == list(range(10, 91, 10))


def test_window_tells_neighbours_apart_when_float32_hardly_does():
    times = (1e6 + np.arange(100) * 0.125).astype(np.float32).astype(np.float64)
    assert TimeWindow(1e6 + 1, 1e6 + 2, 0.25).frames(times).tolist() == list(range(8, 17, 2))


@pytest.mark.filterwarnings("ignore:the chosen frames are")
@given(
    steps=st.lists(st.integers(1, 5), min_size=1, max_size=60),
    begin=st.none() | st.integers(0, 100),
    end=st.none() | st.integers(0, 200),
    interval=st.none() | st.integers(1, 20),
)
def test_window_agrees_with_integer_arithmetic(steps, begin, end, interval):
    times = [sum(steps[:index]) for index in range(len(steps))]
    expected = [
        index for index, time in enumerate(times) if (begin is None or time >= begin) and (end is None or time <= end)
    ]
    if interval is not None:
        expected = [index for index in expected if (times[index] - times[expected[0]]) % interval == 0]
    window = TimeWindow(begin, end, interval)
    if expected:
        assert window.frames(np.array(times, dtype=float)).tolist() == expected
    else:
        is_reversed = begin is not None and end is not None and end < begin
        with pytest.raises(FrameIndexError, match="is earlier than the begin" if is_reversed else "from 0 to"):
            window.frames(np.array(times, dtype=float))


def test_window_says_what_there_is_when_it_holds_no_frame():
    with pytest.raises(FrameIndexError, match="it has frames from 0 to 97 ps"):
        TimeWindow(1000.0, None, None).frames(np.arange(98.0))
    with pytest.raises(FrameIndexError, match="it has no frames"):
        TimeWindow(None, None, None).frames(np.zeros(0))


@pytest.mark.parametrize("interval", [0.0, -1.0, float("nan")])
def test_window_refuses_an_interval_that_is_not_positive(interval):
    with pytest.raises(MismatchError, match="more than 0 ps"):
        TimeWindow(interval=interval)


def test_window_of_a_trajectory_holds_its_frames():
    datafiles = pytest.importorskip("MDAnalysisTests.datafiles")
    source = open_trajectory(datafiles.DCD)
    assert frames_in_window(source, TimeWindow()) is None
    assert frames_in_window(source, TimeWindow(10.0, 30.0, 10.0)).tolist() == [9, 19, 29]
    with pytest.raises(FrameIndexError, match="no frame"):
        frames_in_window(source, TimeWindow(begin=1000.0))
