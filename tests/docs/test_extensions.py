"""The extensions of the site: formulas, links to files of the repository, names of other projects."""

import zlib
from pathlib import Path

import pytest

from architecture.checkout import ROOT

pytestmark = pytest.mark.usefixtures("extensions")

DOCS = ROOT / "docs"


@pytest.mark.parametrize("bars", ["|x|^2", r"\lvert x \rvert^2"])
def test_bars_of_an_absolute_value_are_no_operators(bars: str) -> None:
    from mathml import mathml

    shown = mathml(bars, "inline")
    assert shown.count("<mi>&#x0007C;</mi>") == 2
    assert "<mo>&#x0007C;" not in shown


@pytest.mark.parametrize(
    ("target", "repository", "expected"),
    [
        ("formats.md", "", "formats.md"),
        ("../../ARCHITECTURE.md", "", "../contributing/architecture.md"),
        ("../../README.md#speed", "", "../performance/speed.md"),
        ("../../README.md#start", "", "../index.md"),
        ("../../lab/benchmarks/README.md#files", "", "../performance/method.md#files"),
        ("../../pyproject.toml", "", "../../pyproject.toml"),
        ("../../pyproject.toml", "https://host/mdreel", "https://host/mdreel/blob/main/pyproject.toml"),
        ("../../crates", "https://host/mdreel", "https://host/mdreel/tree/main/crates"),
        ("../design", "", "../design/index.md"),
        ("https://elsewhere/page", "https://host/mdreel", "https://elsewhere/page"),
        ("gone.md", "", "gone.md"),
    ],
)
def test_links_of_pages_lead_to_pages_or_to_the_repository(target: str, repository: str, expected: str) -> None:
    from repository_files import _rewrite

    folder = DOCS / "reference"
    assert _rewrite(f"see [this]({target}).", folder, folder, repository) == f"see [this]({expected})."


def test_links_in_code_stay_as_they_are() -> None:
    from repository_files import _rewrite

    text = "```text\n[this](../../README.md)\n```\n"
    assert _rewrite(text, DOCS / "reference", DOCS / "reference", "") == text


def test_every_file_that_is_a_page_is_included_by_that_page() -> None:
    from repository_files import PAGES

    for name, page in PAGES.items():
        if "#" not in name and name != "README.md":
            text = (DOCS / page).read_text(encoding="utf-8")
            included = text.split("{include} ")[1].split("\n")[0]
            assert (DOCS / page).parent.joinpath(included).resolve() == ROOT / name


def test_list_of_names_becomes_an_inventory() -> None:
    from known_names import _inventory

    head, _, body = _inventory("python", ["py:class library.html#$ int str"]).partition(b"zlib.\n")
    assert head.startswith(b"# Sphinx inventory version 2\n# Project: python\n")
    assert zlib.decompress(body) == b"int py:class 1 library.html#int -\nstr py:class 1 library.html#str -\n"


def test_benchmarks_of_a_page_have_plots() -> None:
    from benchmark_plots import PAGES, _plot, cases

    for page, table in PAGES.items():
        assert Path(DOCS / f"{page}.md").exists()
        for rows in cases(table).values():
            plot = "".join(_plot(rows))
            assert plot.count("bench-dot") == len(rows)
