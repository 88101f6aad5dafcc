"""A run that was measured says what a frame takes."""

from pathlib import Path

import numpy as np
import pytest

from mdreel.errors import MismatchError
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN
from mdreel.timing.timing import Timing
from mdreel_lab.prediction.calibrate import DEFAULT_RESULT_BYTES, workload_of

Row = tuple[str, int, int, float, float, int, int]


def timing_of(*rows: Row) -> Timing:
    """Spans of kind, block, worker, start (ms), length (ms), frames, bytes."""
    spans = [
        (KINDS.index(kind), block, worker, int(start * 1e6), int((start + length) * 1e6), n_frames, n_bytes)
        for kind, block, worker, start, length, n_frames, n_bytes in rows
    ]
    return Timing(np.array(spans, SPAN))


def test_frame_takes_what_all_workers_took_by_kind() -> None:
    workload = workload_of(
        timing_of(
            ("open", NO_BLOCK, COORDINATOR, 0, 30, 0, 0),
            ("open", NO_BLOCK, 0, 30, 10, 0, 0),
            ("open", NO_BLOCK, 1, 30, 20, 0, 0),
            ("read", 0, 0, 40, 20, 10, 5000),
            ("decompress", 0, 0, 60, 30, 10, 0),
            ("compute", 0, 0, 90, 10, 10, 0),
            ("wait", 1, 1, 50, 500, 0, 0),
            ("read", 1, 1, 550, 20, 10, 5000),
            ("decompress", 1, 1, 570, 10, 10, 0),
            ("compute", 1, 1, 580, 30, 10, 0),
        )
    )
    assert workload.n_frames == 20
    assert workload.frame_bytes == 500
    assert workload.read_s == pytest.approx(2e-3)
    assert workload.decompress_s == pytest.approx(2e-3)
    assert workload.compute_s == pytest.approx(2e-3)
    assert workload.opening_s == pytest.approx(0.040)
    assert workload.result_bytes == DEFAULT_RESULT_BYTES
    assert workload.ratio_comp_io == pytest.approx(0.5)


def test_record_without_frames_is_refused() -> None:
    with pytest.raises(MismatchError, match="no frame that was read or computed"):
        workload_of(timing_of(("open", NO_BLOCK, 0, 0, 10, 0, 0)))


def test_run_of_ours_can_be_calibrated_with(adk_xtc: Path) -> None:
    import MDAnalysis as mda
    from MDAnalysisTests.datafiles import PSF

    import mdreel

    run = mdreel.RMSD(mda.Universe(PSF, str(adk_xtc)).select_atoms("name CA")).run(backend="serial")
    workload = workload_of(run.timing)
    assert workload.n_frames == 98
    assert workload.frame_bytes * 98 == pytest.approx(adk_xtc.stat().st_size, rel=0.1)
    assert 0 < workload.frame_s < 0.1
    assert workload.repeated(3).compute_s == pytest.approx(3 * workload.compute_s)
