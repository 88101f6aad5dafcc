"""What is found out about a trajectory: its times."""

from itertools import pairwise
from pathlib import Path

import MDAnalysis
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mdreel.trajectory import info
from mdreel.trajectory.frame_times import intervals


def write_xtc(path: Path, times: list[float]) -> None:
    universe = MDAnalysis.Universe.empty(3, trajectory=True)
    with MDAnalysis.Writer(str(path), 3) as writer:
        for time in times:
            universe.trajectory.ts.time = time
            writer.write(universe.atoms)


def test_info_names_frames_after_gaps_and_those_whose_time_is_repeated_or_goes_back(tmp_path: Path) -> None:
    write_xtc(tmp_path / "part-1.xtc", [0, 1, 2, 2, 3, 7])
    write_xtc(tmp_path / "part-2.xtc", [5, 6, 7, 8])
    facts = info([tmp_path / "part-1.xtc", tmp_path / "part-2.xtc"])
    assert (facts["gaps"], facts["repeated_times"], facts["backward_times"]) == ([5], [3], [6])
    assert (facts["shortest_interval_ps"], facts["usual_interval_ps"], facts["longest_interval_ps"]) == (-2, 1, 4)


def test_info_finds_nothing_irregular_in_times_rounded_to_single_precision(tmp_path: Path) -> None:
    write_xtc(tmp_path / "far.xtc", [1e6 + 0.2 * i for i in range(50)])
    facts = info(tmp_path / "far.xtc")
    assert facts["shortest_interval_ps"] < facts["longest_interval_ps"]
    assert (facts["gaps"], facts["repeated_times"], facts["backward_times"]) == ([], [], [])


@given(
    st.lists(st.sampled_from([-5.0, 0.0, 1.0, 1.2, 2.0, 7.0]), min_size=0, max_size=30),
    st.integers(min_value=0, max_value=3),
)
def test_intervals_are_told_apart_by_their_length(steps: list[float], start: int) -> None:
    times = np.cumsum([float(start), *steps])
    found = intervals(times)
    numbers = range(1, len(times))
    assert found.backward.tolist() == [i for i in numbers if times[i] < times[i - 1]]
    assert found.repeated.tolist() == [i for i in numbers if times[i] == times[i - 1]]
    forward = [b - a for a, b in pairwise(times) if b > a]
    assert found.usual == (np.median(forward) if forward else None)
    assert found.gaps.tolist() == [i for i in numbers if forward and times[i] - times[i - 1] > 1.5 * np.median(forward)]
