"""What tests of the report share: records of runs."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from any_record import real_record as real_record_of
from mdreel.foundation.html.picture import Picture
from mdreel.timing.limits import Limits
from mdreel.timing.record import Record
from mdreel.timing.report.page import page_of
from mdreel.timing.run_description import AnalysisDescription, RunDescription
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN
from mdreel.timing.timing import Timing
from synthetic_runs import stretched, synthetic_spans

ENVIRONMENT = {
    "mdreel": "0.1.0",
    "commit": "0123456789abcdef",
    "python": "3.12.1",
    "versions": {"numpy": "2.1.0", "MDAnalysis": "2.8.0"},
    "cpu": "A CPU with a long name @ 2.40 GHz",
    "n_cores": 48,
    "memory_bytes": 137_438_953_472,
    "kernel": "6.1.0",
    "hostname": "node-17",
    "date": "2026-01-02T03:04:05+00:00",
    "files": [
        {
            "path": "/a/rather/long/path/to/the/trajectory/of/adenylate-kinase/adk.xtc",
            "n_bytes": 30_000_000_000,
            "file_system": "lustre",
            "mount": "/scratch",
            "stripe": {"count": 4, "size": 1_048_576},
            "cached_share": 0.25,
        },
        {"path": "b", "n_bytes": 5, "file_system": "ext4", "mount": "/", "stripe": None, "cached_share": None},
    ],
}


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="800" height="400"><rect width="800" height="400"/></svg>'
RUN = RunDescription(
    call="mdreel run recipe.toml --select 'protein and name CA and (resid 1:29 or resid 60:121 or resid 160:214)'",
    topology="/a/rather/long/path/to/the/topology/of/adenylate-kinase/adk.psf",
    trajectory="/a/rather/long/path/to/the/trajectory/of/adenylate-kinase/adk.xtc",
    frames="24,000 frames, 0 to 23,999 (0 to 24 ps)",
    analyses=(
        AnalysisDescription("RMSD", "protein and name CA", 214, "mean 4.379 Å", Picture("image/svg+xml", SVG, SVG)),
        AnalysisDescription("Contacts", "protein", 3341, "x" * 200, no_picture="Contacts cannot be plotted"),
    ),
)


def record_of(spans: np.ndarray, title: str = "RMSD of 214 atoms") -> Record:
    spans = stretched(spans, 100)  # a run of less than 2 s has no verdict
    limits = Limits(memory_bytes_per_s=2e10, page_cache_bytes_per_s=8e9, storage_bytes_per_s=2e9)
    return Record(timing=Timing(spans), environment=ENVIRONMENT, limits=limits, title=title, run=RUN)


def of_one_rank() -> Record:
    return record_of(synthetic_spans(1, 40))


def of_few_ranks() -> Record:
    return record_of(synthetic_spans(8, 30, {2: ("read", 4.0), 5: ("compute", 3.0)}))


def of_many_ranks() -> Record:
    slow = dict.fromkeys(range(3, 1000, 77), ("read", 4.0))
    return record_of(synthetic_spans(1000, 100, slow | {500: ("open", 60.0)}))


def of_a_short_run() -> Record:
    return replace(of_few_ranks(), timing=Timing(synthetic_spans(8, 30, {2: ("read", 4.0), 5: ("compute", 3.0)})))


def of_no_durations() -> Record:
    spans = synthetic_spans(4, 5)
    spans["start_ns"] = spans["stop_ns"] = 1_000_000
    return record_of(spans)


def of_no_time_at_all() -> Record:
    spans = synthetic_spans(4, 5)
    spans["start_ns"] = spans["stop_ns"] = 0
    return record_of(spans)


def of_no_blocks() -> Record:
    kind = KINDS.index
    rows = [(kind("topology"), NO_BLOCK, COORDINATOR, 0, 9000, 0, 0), (kind("open"), NO_BLOCK, 0, 9000, 9900, 0, 0)]
    return record_of(np.array(rows, SPAN))


def of_nothing() -> Record:
    return Record(timing=Timing(np.empty(0, SPAN)), environment={}, limits=None, title="")


RECORDS: dict[str, Callable[[], Record]] = {
    "one-rank": of_one_rank,
    "few-ranks": of_few_ranks,
    "many-ranks": of_many_ranks,
    "short-run": of_a_short_run,
    "no-durations": of_no_durations,
    "no-time-at-all": of_no_time_at_all,
    "no-blocks": of_no_blocks,
    "nothing": of_nothing,
}


@pytest.fixture(scope="session", params=RECORDS)
def any_text(request: pytest.FixtureRequest) -> str:
    """Pages of runs of every kind, one after the other."""
    return page_of(RECORDS[request.param]())


@pytest.fixture(scope="session")
def few_ranks() -> Record:
    """Eight ranks, of which rank 2 reads slowly and rank 5 computes slowly."""
    return of_few_ranks()


@pytest.fixture(scope="session")
def short_run() -> Record:
    """The same ranks, for less than 2 s."""
    return of_a_short_run()


@pytest.fixture(scope="session")
def many_ranks() -> Record:
    """A thousand ranks with a hundred blocks each, and some stragglers."""
    return of_many_ranks()


@pytest.fixture(scope="session", params=["serial", "threads", "processes"])
def real_record(request: pytest.FixtureRequest) -> Record:
    """A run of RMSD on each executor."""
    return real_record_of(request.param)
