"""Tests of fingerprints and online clusters of a simulation with OpenMM while it runs."""

import sys
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest

import helix_simulation
import mdreel
from mdreel.analysis import InteractionFingerprint, OnlineClustering
from mdreel.live.notices.notice import Notice
from mdreel.live.notices.reader import NoticeReader, list_notices
from publishing import running, said

N_FRAMES = 150

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def _needs_both() -> None:
    pytest.importorskip("openmm", reason="openmm is not installed")
    pytest.importorskip("h5py", reason="h5py is not installed")


def analyses(folder: Path, trajectory: Any) -> tuple[InteractionFingerprint, OnlineClustering]:
    universe = MDAnalysis.Universe(str(folder / "helix.pdb"))
    return (
        InteractionFingerprint(universe, trajectory=trajectory),
        OnlineClustering(universe, "not name H*", 0.6, trajectory=trajectory),
    )


def results(given: tuple[InteractionFingerprint, OnlineClustering]) -> dict[str, bytes]:
    return {
        f"{type(one).__name__}.{name}": np.ascontiguousarray(array).tobytes()
        for one in given
        for name, array in (*one.results.items(), ("frames", one.frames), ("times", one.times))
    }


def notices(channel: Path) -> dict[str, Notice]:
    found = [NoticeReader(path).read() for path in list_notices(channel)]
    return {notice.name: notice for notice in found if notice is not None}


def test_fingerprint_and_clusters_update_and_end_as_those_of_the_archive(tmp_path: Path) -> None:
    command = [sys.executable, helix_simulation.__file__, tmp_path, str(N_FRAMES)]
    seen, rows = [], []
    with running(command) as simulation:
        assert said(simulation) == "open"
        fingerprint, clusters = live = analyses(tmp_path, mdreel.live.channel(tmp_path / "channel", wait=60))
        for _ in mdreel.live.stream_results(live, every=0):
            assert fingerprint.n_frames == clusters.n_frames == len(clusters.results.labels)
            seen.append((clusters.n_frames, clusters.n_clusters, clusters.results.labels.copy()))
            rows.append({name: notice.n_frames for name, notice in notices(tmp_path / "channel").items()})
        assert simulation.wait(60) == 0
    # The simulation is never more frames ahead than its ring has slots, so there are many results before the last.
    assert len(seen) >= N_FRAMES // (2 * helix_simulation.N_SLOTS)
    assert [n_frames for n_frames, _, _ in seen] == sorted({n_frames for n_frames, _, _ in seen})
    assert seen[-1][0] == N_FRAMES
    assert seen[0][1] < seen[-1][1]
    for n_frames, _, labels in seen:
        np.testing.assert_array_equal(labels, clusters.results.labels[:n_frames])
    assert len({tuple(one.values()) for one in rows}) > 1
    told = notices(tmp_path / "channel")
    assert set(told) == {"InteractionFingerprint", "OnlineClustering"}
    assert told["OnlineClustering"].columns == (("frame", ""), ("time", "ps"), ("cluster", ""))
    np.testing.assert_array_equal(told["OnlineClustering"].rows.column(2), clusters.results.labels)
    counts = told["InteractionFingerprint"]
    assert [name for name, _ in counts.columns][:3] == ["frame", "time", "interactions"]
    np.testing.assert_array_equal(counts.rows.column(2), fingerprint.results.counts)

    expected = results(live)
    for how in ({"n_workers": 1}, {"n_workers": 2, "n_parts": 7}, {"backend": "processes", "n_workers": 2}):
        archived = analyses(tmp_path, tmp_path / "archive.h5md")
        mdreel.run(archived, **how)
        assert results(archived) == expected, how
