"""Workloads of a wanted ratio of computing to reading, of which one result is kept, and shares of slow ranks."""

from dataclasses import replace
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from mdreel._core import fluctuation, repeated, rmsd
from mdreel.errors import MismatchError
from mdreel.timing.files import write_record
from mdreel.timing.record import Record
from mdreel.timing.spans import KINDS, SPAN
from mdreel.timing.timing import Timing
from mdreel_lab.bench.grid import Point
from mdreel_lab.bench.measures import series_of
from mdreel_lab.bench.plans import plan_of
from mdreel_lab.bench.records import DONE, FAILED, Kept
from mdreel_lab.bench.repeated_rmsd import RepeatedRMSD
from mdreel_lab.bench.straggler_table import scheme_of_point
from mdreel_lab.bench.tables import TABLES
from mdreel_lab.bench.wanted_ratio import load_of_ratio
from mdreel_lab.prediction.published import published_workload
from mdreel_lab.prediction.schemes import SCHEMES
from mdreel_lab.slow_ranks import slow_share
from mpi_launcher import MPICH, needs

POINT = Point(
    "made-up", "rmsd", "adk", "name CA", "warm", "theirs", "published", "mpi", "xtc", "shared", "gather", "static",
    "file", 0, 1, 0, 100, 0, 1, 1,
)  # fmt: skip


def kept(point: Point, folder: Path, times: list[tuple[float, float]]) -> Kept[Point]:
    """A record of ranks that read and compute so long, s, and then wait for the last one."""
    rows = []
    last = max(sum(one) for one in times)
    for rank, (read, compute) in enumerate(times):
        edges = [0, read, read + compute, last, last + 1]
        for kind, start, stop in zip(("read", "compute", "wait", "communicate"), edges, edges[1:], strict=False):
            block = 2**32 - 1 if kind == "wait" else rank
            n_frames = 100 // len(times) if kind in ("read", "compute") else 0
            rows.append((KINDS.index(kind), block, rank, round(start * 1e9), round(stop * 1e9), n_frames, 0))
    path = folder / f"{point.key}.spans.jsonl"
    write_record(Record(Timing(np.array(rows, SPAN)), {}, None, str(point)), path, force=True)
    return Kept(point, DONE, "", 1.0, {"load": point.load}, {"versions": {}}, path)


@pytest.mark.parametrize(("ratio", "expected"), [(0.3, 3), (11, 131), (100, 1199), (0.01, 1)])
def test_load_reaches_the_ratio_although_a_part_of_the_time_does_not_grow(
    tmp_path: Path, ratio: float, expected: int
) -> None:
    seen: list[Point] = []

    def run(point: Point) -> Kept[Point]:
        seen.append(point)
        return kept(point, tmp_path, [(12.0, 0.1 + point.load)])

    load = load_of_ratio(replace(POINT, ratio=ratio, n_workers=4), run)
    assert load == pytest.approx(expected, abs=1)
    assert [(point.n_workers, point.ratio, point.program) for point in seen] == [(1, 0.0, "published")] * 2
    assert seen[0].load == 1


def test_points_of_weak_scaling_have_the_load_of_one_worker(tmp_path: Path) -> None:
    seen: list[Point] = []

    def run(point: Point) -> Kept[Point]:
        seen.append(point)
        return kept(point, tmp_path, [(12.0, 0.1 + point.load)])

    point = replace(POINT, ratio=11.0, scaling="weak")
    loads = [load_of_ratio(replace(point, n_workers=n, n_frames=100 * n), run) for n in (1, 4)]
    assert loads[0] == loads[1]
    assert {(one.n_workers, one.n_frames) for one in seen} == {(1, 100)}
    assert len({one.key for one in seen}) == 2, "the runs of the first point are found by the second"


def test_ratio_of_a_run_that_reads_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match="needs a run that reads and computes"):
        load_of_ratio(replace(POINT, ratio=3), lambda point: kept(point, tmp_path, [(0.0, 1.0)]))


def test_repeated_computation_keeps_one_result_on_every_executor() -> None:
    atoms = mda.Universe(PSF, DCD).select_atoms("name CA")
    expected = mdreel.RMSD(atoms, trajectory=DCD).run(backend="serial").results.rmsd
    for backend in ("threads", "processes"):
        run = RepeatedRMSD(atoms, 7, trajectory=DCD).run(backend=backend, n_workers=2)
        assert run.results.rmsd.tobytes() == expected.tobytes()


def test_only_values_of_single_frames_can_be_repeated() -> None:
    assert repeated(rmsd(np.zeros((3, 3)), None, False), 5).n_columns == 1
    with pytest.raises(MismatchError, match="adds up frames"):
        repeated(fluctuation(np.zeros((3, 3))), 5)
    with pytest.raises(MismatchError, match="1 or more times, not 0"):
        repeated(rmsd(np.zeros((3, 3)), None, False), 0)


def test_slow_ranks_are_those_of_twice_the_fastest_group() -> None:
    assert slow_share(np.array([10.0, 10.0, 20.0, 20.1])) == 0.25
    assert slow_share(np.array([5.0])) == 0.0
    assert np.isnan(slow_share(np.array([])))
    # The fastest tenth of 20 ranks are two, so that one fast rank alone makes no others slow.
    assert slow_share(np.array([2.0, 10.0, *[11.9] * 17, 12.1])) == 0.05


def test_table_has_measured_and_simulated_shares(tmp_path: Path) -> None:
    point = replace(POINT, ratio=11.0, load=38)
    records = [
        kept(point, tmp_path, [(1.0, 11.0)]),
        kept(replace(point, n_workers=4), tmp_path, [(0.25, 2.75), (0.25, 2.75), (0.25, 2.75), (4.5, 2.75)]),
    ]
    made = TABLES["stragglers"](series_of(records), ())
    measured, *simulated = (dict(zip(made.headings, row, strict=True)) for row in made.rows)
    assert (measured["Where"], measured["N"], measured["W"]) == ("measured", "4", 38)
    assert measured["R_comp/io"] == pytest.approx(11.0)
    assert measured["S(N)"] == pytest.approx(13 / 8.25)
    assert measured["2 x fastest, t_N"] == 0.0, "all wait for the last rank"
    assert measured["2 x fastest, without waiting"] == 0.25
    assert measured["1.5 x median, without waiting"] == 0.25
    assert [(row["Where"], row["N"], row["R_comp/io"]) for row in simulated] == [
        ("simulated: shared-gather", "24", 11.0),
        ("simulated: shared-gather", "72", 11.0),
    ]
    assert all(0 <= float(row["2 x fastest, t_N"]) <= 1 for row in simulated)


@pytest.mark.parametrize(
    ("settings", "scheme"),
    [
        ({}, "shared-gather"),
        ({"communication": "global-arrays", "access": "segments"}, "segments-global-arrays"),
        ({"access": "chain"}, "chain-gather"),
        ({"access": "hdf5-independent", "format": "h5md"}, "hdf5-independent"),
        ({"frames": "memory", "access": "default"}, None),
        ({"executor": "processes", "access": "default"}, None),
        ({"scaling": "weak"}, None),
        ({"program": "mdreel", "schedule": "demand"}, "mdreel"),
        ({"program": "mdreel", "access": "segments"}, "mdreel-segments"),
        ({"program": "mdreel"}, None),
    ],
)
def test_points_have_the_scheme_of_the_model(settings: dict[str, str], scheme: str | None) -> None:
    assert scheme_of_point(replace(POINT, **settings)) == scheme
    assert scheme is None or scheme in SCHEMES


def test_published_workload_can_have_any_ratio() -> None:
    workload = published_workload("shared-gather")
    changed = workload.with_ratio(27)
    assert changed.ratio_comp_io == pytest.approx(27)
    assert changed.read_s == workload.read_s
    with pytest.raises(MismatchError, match="cannot be changed to 3"):
        replace(workload, read_s=0.0).with_ratio(3)


SCENARIO = """
title = "Theirs and ours"
figures = ["speed-up-over-ratio", "ranks"]
tables = ["stragglers", "ratios", "scaling"]

[data]
selection = "{selection}"

[small]
factor = 0.02
workers = 2

[[grid]]
program = ["published", "mdreel"]
executor = "mpi"
schedule = "static"
ratio = 200
small-factor = 0.01
workers = [1, 2]
"""

ON_DASK = """
[[grid]]
program = "published"
executor = ["processes", "distributed"]
schedule = "static"
load = 2
"""


@needs(MPICH)
def test_scenario_of_a_ratio_measures_the_load_first(tmp_path: Path, bench) -> None:
    (tmp_path / "mine.toml").write_text(SCENARIO.format(selection="name CA") + ON_DASK)
    done = bench(tmp_path, "run", "mine.toml", "-o", "results", "--report")
    assert done.returncode == 0, done.stderr
    assert "measuring R_comp/io: published mpi, pilot, W = 1" in done.stderr
    records = plan_of(tmp_path / "results", "mine")[2]
    assert [one.status for one in records] == [DONE] * 6, [one.message for one in records]
    for one in records:
        assert one.timing is not None
        assert one.timing.n_frames == one.point.n_frames == (42 if one.point.ratio else 84)
    theirs, ours = ([one for one in records[:4] if one.point.program == name] for name in ("published", "mdreel"))
    assert len({one.facts["load"] for one in theirs}) == 1, "S(N) compares equal work"
    assert theirs[0].facts["load"] > 1
    assert [one.facts["load"] for one in records[4:]] == [2, 2]
    assert theirs[0].facts["check"] == pytest.approx(ours[0].facts["check"], abs=1e-5)
    assert theirs[0].facts["check"] == pytest.approx(theirs[1].facts["check"], abs=1e-12)
    assert records[4].facts["check"] == pytest.approx(records[5].facts["check"], abs=1e-12)
    page = (tmp_path / "results" / "report" / "mine.md").read_text()
    assert "simulated: shared-gather" in page
    again = bench(tmp_path, "run", "mine.toml", "-o", "results")
    assert "0 done, 6 done before" in again.stderr


@needs(MPICH)
def test_ranks_of_theirs_that_fail_end_at_once_and_say_why(tmp_path: Path, bench) -> None:
    (tmp_path / "mine.toml").write_text(SCENARIO.format(selection="name XX").replace("ratio = 200", "load = 5"))
    done = bench(tmp_path, "run", "mine.toml", "-o", "results")
    assert done.returncode == 1
    records = plan_of(tmp_path / "results", "mine")[2]
    assert {one.status for one in records} == {FAILED}
    assert "the selection 'name XX' has no atoms: select others" in records[0].message
