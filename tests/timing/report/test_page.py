"""The page as a file: well formed, whole in itself, true to the spans, and of bounded size."""

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
from mdreel.foundation.html.markup import element
from mdreel.timing.record import Record
from mdreel.timing.report.page import check_report, page_of, write_report
from mdreel.timing.report.task_stream import MOST_RECTANGLES
from mdreel.timing.report.worker_bars import PARTS
from mdreel.timing.spans import KINDS

CARDS = ("ranks", "stream", "blocks", "throughput", "limits", "ratios", "observables", "environment")
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


def test_page_of_a_real_run_is_well_formed_and_names_what_held_it_up(real_record: Record) -> None:
    page = Page(page_of(real_record))
    timing = real_record.timing
    assert timing.bottleneck.sentence in page.said
    assert f"{timing.n_frames:,}" in page.said
    assert len(page.tips("ranks")[0]) == len(timing.observables.ranks)
    n_lanes = len(timing.workers)
    assert [tip.startswith("worker") for tip in page.tips("stream")[0][:n_lanes]] == [True] * n_lanes
    assert sum(int(re.search(r"\n(\d+) block", tip)[1]) for tip in page.tips("blocks")[0]) == 7
    assert any(page.rectangles("ranks").values())
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
    assert not re.search(r"url\(|@import|\bsrc=|\bhref=|fetch\(|XMLHttpRequest|import\(", any_text)
    assert "default-src 'none'" in any_text


def test_page_stays_small_whatever_the_run(wide_page: Page) -> None:
    page = wide_page
    assert len(page.text.encode()) < 1_000_000
    assert len(page.elements) < 6_000
    n_rectangles = sum(map(len, page.rectangles("stream").values()))
    assert MOST_RECTANGLES / 4 < n_rectangles <= MOST_RECTANGLES + 300
    assert len(page.tips("ranks")[0]) == 250
    assert len(page.tips("stream")[0]) <= 129
    assert len(re.findall("<tr>", page.part("observables"))) <= 204


def test_bars_have_the_lengths_of_the_parts_of_each_rank(few_ranks: Record, page: Page) -> None:
    of = few_ranks.timing.observables
    drawn = page.rectangles("ranks")
    scale = 10_000 / of.t_n.max()
    for name, part in PARTS.items():
        widths = np.zeros(8)
        for left, right, top, _ in drawn.get(name.replace(" ", "-"), []):
            widths[top // 10] += right - left
        np.testing.assert_allclose(widths, part(of) * scale, atol=1.01)
    ends = [
        max(right for rows in drawn.values() for _, right, top, _ in rows if top // 10 == rank) for rank in range(8)
    ]
    np.testing.assert_allclose(ends, of.t_n * scale, atol=1.01)


def test_every_bar_of_many_ranks_is_the_slowest_of_its_neighbours(many_ranks: Record, wide_page: Page) -> None:
    t_n = many_ranks.timing.observables.t_n
    said = [int(re.match(r"rank (\d+)", tip)[1]) for tip in wide_page.tips("ranks")[0]]
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
    assert re.search(r"rank 2: [\d.]+ × the median, [\d.]+ × the fastest; slow read", page.said)
    assert re.search(r"rank 5: [\d.]+ × the median, [\d.]+ × the fastest; slow compute", page.said)
    marks = re.findall(r'class="tick start late">◂ ([\d.]+)×', page.part("ranks"))
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
    [(0.29, "parallel HDF5"), (27.0, "A single shared file is fine"), (0.0, "No rank spent time reading")],
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
    record = replace(few_ranks, environment=outside, title=HOSTILE)
    write_report(record, tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    page = Page(text)
    assert "alert" in page.said
    assert "<script>alert" not in text
    assert text.count("<script") == 1
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", text)


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
