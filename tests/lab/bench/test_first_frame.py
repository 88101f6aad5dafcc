"""The time of the first frame of a rank is the end of its first reading with frames."""

import numpy as np
import pytest

from mdreel.timing.spans import KINDS, NO_BLOCK, SPAN
from mdreel.timing.timing import Timing
from mdreel_lab.bench.first_frame import first_frame_times

SPANS = [
    ("open", NO_BLOCK, 3, 5_000_000, 7_000_000, 0, 0),
    ("read", 2, 3, 7_000_000, 7_500_000, 0, 0),  # looks for the block, and brings no frame
    ("read", 2, 3, 8_000_000, 9_000_000, 4, 100),
    ("read", 2, 3, 10_000_000, 12_000_000, 4, 100),
    ("read", 0, 0, 1_000_000, 2_000_000, 4, 100),
]


def test_first_frame_of_a_rank_ends_its_first_reading_with_frames() -> None:
    spans = np.array([(KINDS.index(kind), *rest) for kind, *rest in SPANS], SPAN)
    assert first_frame_times(Timing(spans), 3) == pytest.approx((9.0, 4.0))
    assert first_frame_times(Timing(spans), 0) == pytest.approx((2.0, 1.0))
