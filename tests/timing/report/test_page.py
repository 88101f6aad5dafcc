"""The page as a file: well formed, whole in itself, true to the spans, and of bounded size."""

import base64
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from any_record import RECORDS as ANY_RECORD
from full_disk import full_disk
from html_page import Page
from mdreel.errors import UnsupportedError
from mdreel.foundation.formatting import digits
from mdreel.foundation.html.markup import element
from mdreel.foundation.html.picture import Picture
from mdreel.timing.observables import NAMES, Observables
from mdreel.timing.record import Record
from mdreel.timing.report.page import check_report, page_of, write_report
from mdreel.timing.report.task_stream import MOST_RECTANGLES
from mdreel.timing.report.worker_bars import PARTS
from mdreel.timing.run_description import AnalysisDescription, RunDescription
from mdreel.timing.spans import KINDS
from mdreel.timing.terms import OBSERVABLES, TERMS

CARDS = (
    "results",
    "workers",
    "stream",
    "blocks",
    "throughput",
    "limits",
    "ratios",
    "observables",
    "environment",
    "terms",
)
HOSTILE = '<script>alert("1")</script> & </title></style> \' \x00 \udcff é'


@pytest.fixture(scope="module")
def page(few_ranks: Record) -> Page:
    return Page(page_of(few_ranks))


@pytest.fixture(scope="module")
def wide_page(many_ranks: Record) -> Page:
    return Page(page_of(many_ranks))


def test_page_of_every_run_is_well_formed_and_has_every_card(any_text: str) -> None:
    page = Page(any_text)
    for card in CARDS:
        assert page.part(card)
        page.drawings(card)
    assert not re.search(r"\b(nan|inf|None)\b", page.said), "an amount that is none is not written as a number"
    assert not re.search(r"\bnan\b|\binf\b|e[+-]\d", "".join(re.findall(r' d="([^"]*)"', page.text)))


def test_page_of_a_real_run_is_well_formed_and_says_how_long_it_took(real_record: Record) -> None:
    page = Page(page_of(real_record))
    timing = real_record.timing
    line = f"This run took {digits(timing.run_seconds)} s; "
    assert (line if timing.is_short else timing.bottleneck.sentence) in page.said
    assert f"{timing.n_frames:,}" in page.said
    assert len(page.tips("workers")[0]) == len(timing.observables.ranks)
    n_lanes = len(timing.workers)
    assert [tip.startswith("worker") for tip in page.tips("stream")[0][:n_lanes]] == [True] * n_lanes
    assert sum(int(re.search(r"\n(\d+) block", tip)[1]) for tip in page.tips("blocks")[0]) == 7
    assert any(page.rectangles("workers").values())
    assert any(page.rectangles("stream").values())


@settings(max_examples=25, deadline=None)
@given(ANY_RECORD)
def test_page_of_any_record_is_well_formed(record: Record) -> None:
    page = Page(page_of(record))
    for card in CARDS:
        page.drawings(card)
    assert not re.search(r"nan|inf", "".join(re.findall(r" (?:d|x|y|x1|viewBox)=\"([^\"]*)\"", page.text)))


def test_page_asks_for_nothing_outside(any_text: str) -> None:
    assert "://" not in any_text
    assert not re.search(r"url\(|@import|\bhref=|fetch\(|XMLHttpRequest|import\(", any_text)
    addresses = re.findall(r"\b(?:src|srcset)=\"([^\"]*)", any_text)
    assert all(re.fullmatch(r"data:image/(svg\+xml|png);base64,[A-Za-z0-9+/=]+", address) for address in addresses)
    assert "default-src 'none'; img-src data:;" in any_text


def test_page_stays_small_whatever_the_run(wide_page: Page) -> None:
    page = wide_page
    assert len(page.text.encode()) < 1_000_000
    assert len(page.elements) < 6_000
    n_rectangles = sum(map(len, page.rectangles("stream").values()))
    assert MOST_RECTANGLES / 4 < n_rectangles <= MOST_RECTANGLES + 300
    assert len(page.tips("workers")[0]) == 250
    assert len(page.tips("stream")[0]) <= 129
    assert len(re.findall("<tr>", page.part("observables"))) <= 204


def test_bars_have_the_lengths_of_the_parts_of_each_rank(few_ranks: Record, page: Page) -> None:
    of = few_ranks.timing.observables
    drawn = page.rectangles("workers")
    scale = 10_000 / of.t_own.max()
    for name, part in PARTS.items():
        widths = np.zeros(8)
        for left, right, top, _ in drawn.get(name.replace(" ", "-"), []):
            widths[top // 10] += right - left
        np.testing.assert_allclose(widths, part(of) * scale, atol=1.01)
    ends = [
        max(right for rows in drawn.values() for _, right, top, _ in rows if top // 10 == rank) for rank in range(8)
    ]
    np.testing.assert_allclose(ends, of.t_own * scale, atol=1.01)


def test_every_bar_of_many_ranks_is_the_slowest_of_its_neighbours(many_ranks: Record, wide_page: Page) -> None:
    t_n = many_ranks.timing.observables.t_own
    said = [int(re.match(r"worker (\d+)", tip)[1]) for tip in wide_page.tips("workers")[0]]
    assert said == [int(4 * i + np.argmax(t_n[4 * i : 4 * i + 4])) for i in range(250)]


def test_areas_of_the_task_stream_are_shares_of_time(few_ranks: Record, page: Page) -> None:
    timing = few_ranks.timing
    drawn = page.rectangles("stream")
    del drawn["late-block"]
    areas = {
        name: sum((right - left) * (bottom - top) for left, right, top, bottom in of) for name, of in drawn.items()
    }
    whole = sum(areas.values())
    for kind in KINDS:
        assert areas.get(kind, 0) / whole == pytest.approx(timing.seconds(kind) / timing.seconds(), abs=0.02)


def test_areas_of_thin_lanes_are_shares_of_time_too(many_ranks: Record, wide_page: Page) -> None:
    drawn = wide_page.rectangles("stream")
    areas = {
        name: sum((right - left) * (bottom - top) for left, right, top, bottom in of) for name, of in drawn.items()
    }
    shown = [int(tip.split()[1][:-1]) for tip in wide_page.tips("stream")[0][:-1]]
    spent = {kind: many_ranks.timing.per_worker(kind)[shown].sum() for kind in ("read", "decompress", "compute")}
    for kind, seconds in spent.items():
        assert areas[kind] / areas["read"] == pytest.approx(seconds / spent["read"], rel=0.05)


def test_task_stream_frames_the_late_blocks(few_ranks: Record, page: Page) -> None:
    taken = few_ranks.timing.per_block()
    assert len(page.rectangles("stream")["late-block"]) == (taken > 1.5 * np.median(taken)).sum() > 0


def test_histogram_counts_every_block_once(few_ranks: Record, page: Page) -> None:
    taken = few_ranks.timing.per_block()
    counts = [int(re.search(r"\n([\d,]+) block", tip)[1]) for tip in page.tips("blocks")[0]]
    assert sum(counts) == len(taken) == 240
    drawn = page.rectangles("blocks")
    late = sum(bottom - top for _, _, top, bottom in drawn["bin late"])
    alone = sum(bottom - top for _, _, top, bottom in drawn["bin"])
    assert late / (late + alone) == pytest.approx((taken > 1.5 * np.median(taken)).mean(), abs=0.1)


def test_stragglers_are_named_with_their_causes(few_ranks: Record, page: Page) -> None:
    assert {straggler.rank for straggler in few_ranks.timing.straggling} == {2, 5}
    assert re.search(r"worker 2: [\d.]+ × the median, [\d.]+ × the fastest; slow read", page.said)
    assert re.search(r"worker 5: [\d.]+ × the median, [\d.]+ × the fastest; slow compute", page.said)
    marks = re.findall(r'class="tick start late">◂ ([\d.]+)×', page.part("workers"))
    assert len(marks) == 2


def test_throughput_adds_up_to_what_was_read(few_ranks: Record, page: Page) -> None:
    timing = few_ranks.timing
    rates = [float(tip.split()[0]) for tip in page.tips("throughput")[0]]
    units = {tip.split()[1] for tip in page.tips("throughput")[0]}
    factors = {"GB/s": 1e9, "MB/s": 1e6, "kB/s": 1e3, "B/s": 1.0}
    in_bytes = [float(tip.split()[0]) * factors[tip.split()[1]] for tip in page.tips("throughput")[0]]
    assert units <= set(factors)
    assert len(rates) == 100
    assert np.mean(in_bytes) * timing.wall_seconds == pytest.approx(timing.n_bytes, rel=0.01)


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(0.29, "parallel HDF5"), (27.0, "A single shared file is fine"), (0.0, "No worker spent time reading")],
)
def test_ratios_come_with_what_the_guidelines_say(few_ranks: Record, ratio: float, words: str) -> None:
    from mdreel.timing.report.ratios import _of_reading

    of = few_ranks.timing.observables
    t_io = np.full(8, 1.0 if ratio else 0.0)
    assert words in _of_reading(replace(of, t_io=t_io, t_comp=t_io * ratio))


def test_limits_that_were_not_measured_are_left_out(few_ranks: Record) -> None:
    assert few_ranks.limits is not None
    page = Page(page_of(replace(few_ranks, limits=replace(few_ranks.limits, storage_bytes_per_s=None))))
    assert "Not measured: storage." in page.part("limits")
    assert "page cache" in page.part("limits")
    assert "not measured" in Page(page_of(replace(few_ranks, limits=None))).part("limits")


def test_whatever_comes_from_outside_is_escaped(few_ranks: Record, tmp_path: Path) -> None:
    file = {"path": HOSTILE, "n_bytes": 1, "file_system": HOSTILE, "mount": HOSTILE, "stripe": {HOSTILE: HOSTILE}}
    outside = {"hostname": HOSTILE, "date": HOSTILE, "versions": {HOSTILE: HOSTILE}, "own": [HOSTILE], "files": [file]}
    analysis = AnalysisDescription(HOSTILE, HOSTILE, 3, HOSTILE, no_picture=HOSTILE)
    plotted = replace(analysis, picture=Picture("image/svg+xml", HOSTILE.encode("utf-8", "replace"), b""))
    run = RunDescription(HOSTILE, HOSTILE, HOSTILE, HOSTILE, (analysis, plotted))
    record = replace(few_ranks, environment=outside, title=HOSTILE, run=run)
    write_report(record, tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    page = Page(text)
    assert "alert" in page.said
    assert "<script>alert" not in text
    assert text.count("<script") == 1
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", text)


def test_page_shows_what_was_computed_above_the_timing(few_ranks: Record, page: Page) -> None:
    run = few_ranks.run
    assert run is not None
    for text in (run.call, run.topology, run.trajectory, run.frames, "214 atoms: protein and name CA", "mean 4.379 Å"):
        assert text in page.said
    pictures = [attributes for tag, attributes in page.elements if tag == "img"]
    assert [one["alt"] for one in pictures] == ["Plot of RMSD, 214 atoms"]
    assert base64.b64decode((pictures[0]["src"] or "").partition(",")[2]) == run.analyses[0].picture.wide
    assert "There is no plot: Contacts cannot be plotted." in page.said
    assert page.text.index('id="results"') < page.text.index('id="timing"') < page.text.index('id="workers"')
    assert "does not contain what the run computed" in Page(page_of(replace(few_ranks, run=None))).said


def test_page_of_a_short_run_has_one_line_instead_of_a_verdict(short_run: Record, page: Page) -> None:
    short = Page(page_of(short_run))
    line = "This run took 0.0668 s; runs of less than 2 s are too short to name a bottleneck."
    assert line in short.said
    for verdict in ("Bottleneck: ", "2 stragglers:", "use parallel HDF5"):
        assert verdict in page.said
        assert verdict not in short.said
    assert "t_all_frames" in short.part("observables")
    assert short.rectangles("stream").keys() == page.rectangles("stream").keys()


def test_page_calls_every_rank_a_worker(any_text: str) -> None:
    said = Page(re.sub(r"<section class=\"card\" id=\"terms\">.*?</section>", "", any_text, flags=re.DOTALL)).said
    assert not re.search(r"\branks?\b", said)


def test_every_term_has_a_definition_on_the_page(any_text: str) -> None:
    page = Page(any_text)
    defined = {attributes["id"] for tag, attributes in page.elements if tag == "dd"}
    explained = [attributes for _, attributes in page.elements if attributes.get("class") == "term"]
    assert {one["aria-describedby"] for one in explained} <= defined
    assert all(one["type"] == "button" for one in explained)
    assert all(definition in page.said for definition in TERMS.values())


def test_every_kind_and_every_observable_is_a_term_of_the_page(page: Page) -> None:
    explained = {attributes.get("aria-describedby") for _, attributes in page.elements}
    kinds = {kind for kind in KINDS if page.rectangles("stream").get(kind)}
    for name in (*kinds, *NAMES, "t_idle", "t_total", "worker", "block", "bottleneck", "straggler", "late block"):
        assert f"term-{re.sub('[^a-z0-9]', '-', name)}" in explained
    assert TERMS.keys() >= {*KINDS, *PARTS, *NAMES}


def test_observables_have_the_words_of_the_reference() -> None:
    reference = " ".join((Observables.__doc__ or "").replace("`", "").split())
    for name, definition in OBSERVABLES.items():
        assert f"{name} : ndarray, shape (n_ranks,), float64, s {definition.removesuffix('.')}" in reference


def test_element_escapes_text_and_attributes_but_not_markup() -> None:
    inner = element("b", "1 < 2", title='"&"')
    assert element("p", "a & b ", inner, data_x=0.5, class_=None) == (
        '<p data-x="0.5">a &amp; b <b title="&quot;&amp;&quot;">1 &lt; 2</b></p>'
    )


def test_report_replaces_a_file_only_when_told(few_ranks: Record, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    path.write_text("before")
    with pytest.raises(FileExistsError):
        write_report(few_ranks, path)
    assert path.read_text() == "before"
    write_report(few_ranks, path, force=True)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [own.name for own in tmp_path.iterdir()] == ["run.html"]


@pytest.mark.parametrize("name", ["run.pdf", "run", ".html"])
def test_report_of_another_ending_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"\.html, \.htm"):
        check_report(tmp_path / name)


def test_full_disk_leaves_no_half_page(many_ranks: Record, tmp_path: Path) -> None:
    with full_disk(tmp_path) as folder:
        with pytest.raises(OSError, match=re.escape(str(folder / "run.html"))):
            write_report(many_ranks, folder / "run.html")
        assert list(folder.iterdir()) == []
