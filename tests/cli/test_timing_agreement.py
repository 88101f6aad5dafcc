"""Numbers of timing agree wherever they are shown: terminal, report page, file of spans, Python attributes."""

import re

import MDAnalysis as mda
import numpy as np
import pytest
from MDAnalysis.analysis.dihedrals import Ramachandran
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from html_page import Page
from mdreel.foundation.formatting import BYTES_PER_SECOND, SECONDS, amount, digits, percent
from mdreel.timing.files import read_record
from mdreel.timing.record import Record
from mdreel.timing.report.page import page_of
from mdreel.timing.spans import KINDS, SPAN
from mdreel.timing.timing import Timing
from synthetic_runs import stretched, synthetic_spans

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
SHARE = re.compile(rf"\b({'|'.join(KINDS)}) (< 1 %|\d+ %)")


def shares_said(text: str) -> set[tuple[str, str]]:
    return set(SHARE.findall(text))


def shares_of(timing: Timing) -> set[tuple[str, str]]:
    rare = ("write", "communicate", "topology")
    return {(kind, percent(share)) for kind, share in timing.shares.items() if share or kind not in rare}


@pytest.mark.parametrize("arguments", [["--backend", "serial"], ["-nt", "2"], ["--backend", "processes", "-nt", "2"]])
def test_terminal_page_file_and_attribute_show_the_same_numbers(run, adk, tmp_path, arguments):
    outputs = ["-o", "rmsd.csv", "--timing", "run.jsonl", "--report", "run.html"]
    done = run("rmsd", "-s", adk["psf"], "-f", adk["xtc"], *arguments, *outputs)
    assert done.returncode == 0, done.stderr
    record = read_record(tmp_path / "run.jsonl")
    timing = record.timing
    assert timing.topology_seconds > 0
    assert timing.run_seconds == pytest.approx(timing.wall_seconds - timing.topology_seconds)

    said = timing.summary()
    assert done.stderr.endswith(f"{said}\n")
    # On a busy machine, the run may take more than 2 s.
    assert said.startswith("This run took " if timing.is_short else "98 frames in ")
    assert f" {digits(timing.run_seconds)} s" in said
    assert f" {digits(timing.frames_per_second)} frames/s, {digits(timing.bytes_per_second * 1e-9)} GB/s" in said
    assert f"; topology {digits(timing.topology_seconds)} s before" in said
    assert sum(timing.shares.values()) == pytest.approx(1)
    assert (timing.bottleneck.kind, timing.bottleneck.share) == max(timing.shares.items(), key=lambda one: one[1])

    page = Page((tmp_path / "run.html").read_text(encoding="utf-8"))
    assert shares_said(page.said) == shares_of(timing)
    line = f"This run took {digits(timing.run_seconds)} s; "
    assert (line if timing.is_short else f"Bottleneck: {timing.bottleneck.sentence}.") in page.said
    assert f"{digits(timing.frames_per_second)} frames/s and {amount(timing.bytes_per_second, BYTES_PER_SECOND)}" in (
        page.said
    )
    assert amount(timing.run_seconds, SECONDS) in page.said
    assert amount(timing.topology_seconds, SECONDS) in page.said
    limits = record.limits
    assert limits is not None
    rate = limits.storage_bytes_per_s or limits.page_cache_bytes_per_s
    assert rate is not None
    assert f"{percent(timing.bytes_per_second / rate)} of the rate of" in page.said


def test_summary_and_page_of_a_long_run_show_the_same_numbers():
    timing = Timing(stretched(synthetic_spans(3, 5), 500)).preceded_by("topology", 3.0)
    first, second, third = timing.summary().splitlines()
    page = Page(page_of(Record(timing, {}, None, "")))
    assert first.startswith(f"1,500 frames in {digits(timing.run_seconds)} s on ")
    assert first.endswith("; topology 3 s before")
    assert shares_said(second) == shares_said(page.said) == shares_of(timing)
    assert third.startswith(f"bottleneck: {timing.bottleneck.sentence}; ")
    assert f"Bottleneck: {timing.bottleneck.sentence}." in page.said


def test_timing_without_topology_is_that_of_the_run():
    own = mdreel.RMSD(mda.Universe(PSF, DCD).select_atoms("name CA")).run(n_workers=2).timing
    behind = own.preceded_by("topology", 3.0)
    np.testing.assert_array_equal(behind.without_topology().spans, own.spans)
    np.testing.assert_array_equal(own.without_topology().spans, own.spans)
    assert len(Timing(own.spans[:0]).preceded_by("topology", 3.0).without_topology().spans) == 1


def test_loading_of_the_topology_changes_no_number_of_the_run():
    own = mdreel.RMSD(mda.Universe(PSF, DCD).select_atoms("name CA")).run(n_workers=2).timing
    behind = own.preceded_by("topology", 100.0)
    assert behind.shares == pytest.approx(own.shares)
    assert behind.run_seconds == pytest.approx(own.run_seconds)
    assert behind.bytes_per_second == pytest.approx(own.bytes_per_second)
    assert behind.bottleneck.kind == own.bottleneck.kind
    assert behind.wall_seconds == pytest.approx(own.wall_seconds + 100.0)


def test_stragglers_are_counted_and_named_as_workers():
    spans = np.zeros(4, SPAN)
    spans["kind"], spans["worker"] = KINDS.index("read"), [0, 1, 2, 3]
    spans["stop_ns"] = [9_000_000_000, 1_000_000_000, 1_000_000_000, 1_000_000_000]
    spans["n_frames"] = 1
    assert "; 1 straggler: worker 0 (9x, slow read +8 s)" in Timing(spans).summary()
    alike = Timing(stretched(spans[1:], 3))
    assert alike.summary().splitlines()[-1].endswith("no stragglers")


@pytest.mark.parametrize("name", ["serial", "threads", "processes"])
def test_timing_of_a_backend_of_mdanalysis_counts_frames_and_groups(name):
    backend = mdreel.mdanalysis.backend(name, n_workers=2) if name != "serial" else mdreel.mdanalysis.backend(name)
    protein = mda.Universe(PSF, DCD).select_atoms("protein")
    Ramachandran(protein).run(step=3, backend=backend, n_parts=5)
    timing = backend.timing
    assert timing is not None
    assert (timing.n_frames, timing.n_blocks) == (33, 5)
    assert int(timing.observables.n_frames.sum()) == 33
    assert "33 frames" in timing.summary()
