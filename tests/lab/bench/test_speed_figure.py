"""The figure of the README shows the kept results."""

import re
from pathlib import Path

from architecture.checkout import ROOT
from mdreel_lab.bench.contests import pages
from mdreel_lab.bench.contests.__main__ import SPEED_FIGURE
from mdreel_lab.bench.contests.cases import read_cases
from mdreel_lab.bench.contests.speed_figure import write_speed_figure


def kept_pages() -> list[pages.Page]:
    names = read_cases().names_of("table")
    return [page for name in names if (page := pages.load(ROOT / "lab" / "benchmarks" / "results" / f"{name}.json"))]


def test_readme_has_the_caption_of_the_kept_results() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme.split(f"{pages.BEGIN}\n")[1].split(pages.END)[0]
    assert shown == pages.of_readme(kept_pages(), SPEED_FIGURE)
    assert (ROOT / SPEED_FIGURE).exists()


def test_figure_is_the_same_bytes_each_time_and_has_a_row_for_each_case(tmp_path: Path) -> None:
    texts = []
    for name in ("first.svg", "second.svg"):
        write_speed_figure(tmp_path / name, kept_pages())
        texts.append((tmp_path / name).read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    labels = set(re.findall(r"<!-- (.*?) -->", texts[0].replace("\n", " ")))
    shown = pages.of_readme_pages(kept_pages())
    assert len(shown) >= 5
    for page in shown:
        title = str(page["title"]).split(",")[0].removeprefix("Cα ")
        assert any(title in label for label in labels), (title, labels)
