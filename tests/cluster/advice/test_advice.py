"""Advice: the papers' verdicts for the papers' cases, and what goes into and comes out of it."""

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import MDAnalysis
import pytest
from MDAnalysisTests.datafiles import PSF

import mdreel
from cluster.advice.samples import DIHEDRALS, HERE, PAPER, times
from mdreel.cluster.advice.advise import advice_of, advise, numbers_of_workers
from mdreel.cluster.advice.target import target_of
from mdreel.errors import MismatchError

COMET = target_of(24, 6, "lustre", found="ext4")
COMPUTER = replace(target_of(1, found="ext4"), n_cores=24)


def test_paper_of_2019_avoids_the_shared_file_on_many_nodes():
    advice = advice_of(PAPER, COMET, 144)
    assert advice.ratio_comp_io == pytest.approx(0.29, abs=0.01)
    assert advice.plan.access == "segments"
    assert advice.plan.must_split
    assert (advice.plan.n_files, advice.plan.n_nodes, advice.plan.executor) == (144, 6, "mpi")
    assert advice.verdict("bound by").choice == "reading"
    assert "avoid a single shared file" in advice.verdict("file access").reason
    # And without being told how many workers: one node's worth of Lustre is less than it needs.
    assert advice_of(PAPER, COMET).plan.access == "segments"


@pytest.mark.parametrize(("workload", "ratio"), [(40, 11), (70, 19), (100, 27)])
def test_paper_of_2019_shares_the_file_where_much_is_computed(workload, ratio):
    advice = advice_of(times(workload), COMET, 144)
    assert advice.ratio_comp_io == pytest.approx(ratio, rel=0.07)
    assert advice.plan.access == "shared"
    assert not advice.plan.must_split
    assert advice.verdict("file access").source.endswith("heuristic 2")


def test_paper_of_2018_shares_the_file_for_dihedrals():
    advice = advice_of(DIHEDRALS, COMET, 72)
    assert advice.ratio_comp_io == pytest.approx(100)
    assert advice.plan.access == "shared"
    assert advice.verdict("bound by").choice == "compute"


def test_one_node_shares_the_file_whatever_the_ratio():
    advice = advice_of(PAPER, COMPUTER, 24)
    assert advice.ratio_comp_io == pytest.approx(0.29, abs=0.01)
    assert (advice.plan.access, advice.plan.executor, advice.plan.must_split) == ("shared", "threads", False)


def test_hdf5_is_read_together_on_many_nodes_where_that_can_be_done():
    sample = replace(PAPER, format="H5MD", has_parallel_hdf5=True)
    assert advice_of(sample, COMET, 144).plan.access == "hdf5-independent"
    assert advice_of(replace(sample, is_transformed=True), COMET, 144).plan.access == "segments"
    assert advice_of(replace(sample, n_files=2), COMET, 144).plan.access == "segments"
    assert advice_of(sample, COMPUTER, 24).plan.access == "shared"


def test_results_that_are_large_are_put_into_an_array_as_they_are_made():
    # Much is left of each frame and little computed: a link of 1 GB/s is what all wait for.
    heavy = replace(PAPER, row_bytes=100_000)
    advice = advice_of(heavy, COMET, 144)
    assert advice.ratio_comp_comm < 1
    assert advice.plan.communication == "window"
    assert advice_of(DIHEDRALS, COMET, 72).plan.communication == "gather"
    assert advice_of(PAPER, COMPUTER, 24).plan.communication is None


def test_fewest_workers_that_are_enough_are_chosen():
    short = replace(HERE, n_frames=100)
    assert advice_of(short, COMPUTER).plan.n_workers == 1  # opening is all there is
    slow = replace(PAPER, n_frames=10**6)
    assert advice_of(slow, COMPUTER).plan.n_workers == 24
    advice = advice_of(slow, COMPUTER)
    best = min(one.seconds for one in advice.predictions)
    assert advice.chosen.seconds <= 1.05 * best


def test_numbers_of_workers_are_doubled_on_a_node_and_then_in_nodes():
    assert numbers_of_workers(COMET, 144) == [1, 2, 4, 8, 16, 24, 48, 96, 144]
    assert numbers_of_workers(COMET, 144, 30) == [1, 2, 4, 8, 16, 24, 30, 48, 96, 144]
    assert numbers_of_workers(COMET, 30) == [1, 2, 4, 8, 16, 24, 30]
    assert numbers_of_workers(COMPUTER, 1) == [1]
    assert numbers_of_workers(replace(COMPUTER, n_cores=3), 3) == [1, 2, 3]


def test_predictions_begin_with_one_worker_of_whom_the_efficiency_is_one():
    advice = advice_of(PAPER, COMET)
    first, *others = advice.predictions
    assert (first.plan.executor, first.plan.n_workers) == ("serial", 1)
    assert first.efficiency(advice.serial) == 1
    assert all(one.efficiency(advice.serial) < 1.0001 for one in others)


@pytest.mark.parametrize("n_workers", [0, -1, 145])
def test_workers_that_there_cannot_be_are_refused(n_workers):
    with pytest.raises(MismatchError, match=f"{n_workers} workers were requested of 6 nodes with 24 cores each"):
        advice_of(PAPER, COMET, n_workers)


def test_no_more_workers_than_frames():
    with pytest.raises(MismatchError, match=r"at most 3 can work \(3 frames\)"):
        advice_of(replace(PAPER, n_frames=3), COMET, 24)
    assert advice_of(replace(PAPER, n_frames=3), COMET).predictions[-1].plan.n_workers == 3


def test_json_holds_everything_and_nothing_that_json_cannot():
    sample = replace(PAPER, alone=replace(PAPER.alone, read=0.0, decompress=0.0, n_bytes=0.0))
    advice = advice_of(sample, COMPUTER, 2)
    assert advice.ratio_comp_io == inf
    found = json.loads(json.dumps(advice.to_json(), allow_nan=False))
    assert found["ratio_comp_io"] is None
    assert found["plan"]["n_workers"] == 2
    assert found["plan"]["frames_per_block"] == advice.frames_per_block
    assert {one["subject"] for one in found["verdicts"]} == {
        "bound by",
        "format",
        "file access",
        "executor",
        "schedule",
        "results",
    }
    for row, one in zip(found["predictions"], advice.predictions, strict=True):
        parts = [row[name] for name in ("opening", "start", "loop", "end", "communication")]
        assert sum(parts) == pytest.approx(row["seconds"])
        assert row["speedup"] == pytest.approx(one.speedup(advice.serial))


def test_page_has_the_numbers_and_where_they_come_from():
    page = str(advice_of(PAPER, COMET, 144))
    for words in (
        "6 nodes with 24 cores each, lustre file system (assumed rates)",
        "XTC, 214 of 3,341 atoms",
        "R_comp/io     0.2",
        "segments: ",
        "[Khoshlessan et al. 2019, section 8, heuristic 3.2]",
        "split it into 144 segments first",
    ):
        assert words in page
    rows = [line.split() for line in page.splitlines() if line.endswith("<-")]
    assert [row[:3] for row in rows] == [["144", "6", "mpi"]]
    assert max(map(len, page.splitlines())) < 220
    here = str(advice_of(HERE, replace(COMPUTER, n_cores=2)))
    assert "2 threads" in here
    assert "1.09 times as long as alone" in here


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_advice_on_a_real_run_holds_together(adk_xtc: Path):
    atoms = MDAnalysis.Universe(PSF).select_atoms("name CA")
    rmsd = mdreel.RMSD(atoms, trajectory=adk_xtc)
    advice = advise(rmsd, opening=0.25)
    assert advice.target.is_here
    assert advice.plan.n_nodes == 1
    assert advice.sample.opening > 0.25
    assert advice.serial.seconds > 0.25
    assert str(advice).count("\n") > 10
    run = rmsd.run(backend=advice.plan.executor, n_workers=advice.plan.n_workers)
    assert run.n_frames == advice.sample.n_frames
    fixed = advise(rmsd, n_workers=1)
    assert fixed.plan.n_workers == 1
    assert fixed.predictions[0].plan.executor == "serial"


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_machine_that_is_none_is_refused_before_anything_is_read(tmp_path: Path):
    atoms = MDAnalysis.Universe(PSF).atoms
    with pytest.raises(MismatchError, match="at least 1 node"):
        advise(mdreel.Rg(atoms, trajectory=tmp_path / "none.xtc"), n_nodes=0)


def test_reasons_name_the_nodes_that_the_plan_leaves_unused():
    small = replace(PAPER, n_frames=100)
    advice = advice_of(small, target_of(24, 4, "lustre", found="ext4"))
    assert advice.plan.n_nodes == 1
    assert (
        "but on the single node (of 4) that the plan uses: workers open the file once"
        in advice.verdict("file access").reason
    )
    assert f"workers       {advice.plan.n_workers} on 1 of 4 nodes, of 96 cores" in str(advice)
    threads = advice_of(small, target_of(24, 4, "lustre", found="ext4"), 2).verdict("executor")
    assert threads.reason == "on the single node (of 4) that the plan uses, threads share memory and start at once"
    assert "but on one node: workers" in advice_of(PAPER, COMPUTER, 24).verdict("file access").reason


def test_frames_that_were_sampled_twice_count_once():
    sample = replace(PAPER, n_frames=100, n_sampled=95, n_distinct=95, seconds=0.5)
    assert "sample        95 of 100 frames in 0.5 s\n" in str(advice_of(sample, COMPUTER))
    twice = replace(sample, n_sampled=190, n_distinct=100)
    assert "sample        100 of 100 frames, read up to twice, in 0.5 s\n" in str(advice_of(twice, COMPUTER))
