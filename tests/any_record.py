"""Any record of a run, and real ones, for tests of what is made of them."""

import warnings

import MDAnalysis as mda
import numpy as np
from hypothesis import strategies as st
from MDAnalysisTests.datafiles import DCD, PSF

from mdreel import RMSD
from mdreel.execution.executors.resolve_executor import executor_class
from mdreel.timing.environment import environment_of
from mdreel.timing.limits import Limits
from mdreel.timing.record import Record
from mdreel.timing.run_description import AnalysisDescription, RunDescription
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN, TASK
from mdreel.timing.timing import Timing
from mdreel.timing.workers import Member

_COUNTS = st.integers(0, 2**40)
# Few, so that much begins and ends together.
_TIMES = st.one_of(st.integers(0, 12), st.integers(0, 2**50))
_WORKERS = st.sampled_from([0, 1, 2, 41, COORDINATOR])
_TEXTS = st.text(max_size=12)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _FLOATS | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)
_RATES = st.floats(0, 1e13)


def _span(kind: int, block: int, worker: int, start: int, taken: int, counts: tuple[int, int]) -> tuple[int, ...]:
    return kind, block, worker, start, start + taken, *counts


def _task(first: int, n_blocks: int, worker: int, start: int, taken: int) -> tuple[int, ...]:
    return first, first + n_blocks, worker, start, start + taken


_SPANS = st.builds(
    _span,
    st.integers(0, len(KINDS) - 1),
    st.one_of(st.integers(0, 9), st.just(NO_BLOCK)),
    _WORKERS,
    _TIMES,
    _TIMES,
    st.tuples(_COUNTS, _COUNTS),
)
_TASKS = st.builds(_task, st.integers(0, 99), st.integers(1, 9), st.integers(0, 3), _TIMES, _TIMES)
_MEMBERS = st.builds(Member, st.text(min_size=1, max_size=9), st.integers(1, 2**22), st.integers(0, 2**50))

TIMINGS = st.builds(
    Timing,
    st.lists(_SPANS, max_size=40).map(lambda rows: np.array(rows, SPAN)),
    st.dictionaries(_WORKERS, _MEMBERS, max_size=4),
    st.lists(_TASKS, max_size=6).map(lambda rows: np.array(rows, TASK)),
)
ANALYSES = st.builds(AnalysisDescription, _TEXTS, _TEXTS, _COUNTS, _TEXTS)
RUNS = st.builds(RunDescription, _TEXTS, _TEXTS, _TEXTS, _TEXTS, st.lists(ANALYSES, max_size=3).map(tuple))
RECORDS = st.builds(
    Record,
    TIMINGS,
    st.dictionaries(_TEXTS, _VALUES, max_size=4),
    st.none() | st.builds(Limits, _RATES, st.none() | _RATES, st.none() | _RATES, _TEXTS),
    _TEXTS,
    st.none() | RUNS,
)
"""Records with spans that overlap, of workers that nobody knows, and texts in any language."""


def real_record(backend: str = "threads") -> Record:
    """The record of a real run, in which every worker has its share."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        atoms = mda.Universe(PSF).select_atoms("name CA")
    environment = environment_of([DCD])
    executor = executor_class(backend)(None if backend == "serial" else 2, "static")
    timing = RMSD(atoms, trajectory=DCD).run(backend=executor, n_parts=7).timing
    return Record(timing, environment, Limits(2.5e10, 1e10, None, "not looked"), "RMSD of AdK")


def assert_same(one: Record, other: Record) -> None:
    """Nothing of a record was lost."""
    np.testing.assert_array_equal(one.timing.spans, other.timing.spans)
    np.testing.assert_array_equal(one.timing.tasks, other.timing.tasks)
    assert one.timing.spans.dtype == other.timing.spans.dtype
    assert one.timing.crew == other.timing.crew
    assert one.run == other.run
    assert (one.environment, one.limits, one.title) == (other.environment, other.limits, other.title)
