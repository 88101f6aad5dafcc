"""The built site: links, files that pages load, and what a browser shows on a desktop and on a phone."""

import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from browser import Browser, open_browser, why_there_is_none
from docs.site_pages import Page, broken_links, is_external

needs_browser = pytest.mark.skipif(why_there_is_none() is not None, reason=str(why_there_is_none()))

SEARCHED = {  # and a page that must be found
    "RMSD": "reference/analyses/rmsd",
    "RMSF": "reference/analyses/rmsf",
    "PCA": "reference/analyses/pca",
    "DSSP": "reference/analyses/dssp",
    "Ramachandran": "reference/analyses/dihedrals",
    "hydrogen bonds": "reference/analyses/hydrogen-bonds",
    "radius of gyration": "reference/analyses/rg",
    "diffusion": "reference/analyses/msd",
    "SASA": "reference/analyses/sasa",
    "contacts": "reference/analyses/contacts",
    "unwrap": "how-to/boundaries",
    "checkpoint": "how-to/executors",
    "Slurm": "how-to/clusters",
    "H5MD": "reference/formats",
    "OpenMM": "how-to/engines",
    "steering": "how-to/steering",
    "straggler": "reference/glossary",
    "from_function": "how-to/own-functions",
    "JumpWarning": "reference/errors",
    "mdreel convert": "reference/cli/commands/convert",
}


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = {path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    assert len(found) > 150, "the search found the pages"
    return found


def test_every_link_leads_to_a_page_and_an_anchor(pages: dict[Path, Page]) -> None:
    assert sum(len(page.links) for page in pages.values()) > 10_000
    assert not broken_links(pages)


def test_broken_link_and_anchor_are_found(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text('<p id="there"><a href="#there"></a><a href="#gone"></a><img src="gone.png"></p>', encoding="utf-8")
    assert broken_links({path: Page(path)}) == ["page.html: #gone", "page.html: gone.png"]


def test_pages_load_nothing_from_elsewhere(pages: dict[Path, Page]) -> None:
    assert not {target for page in pages.values() for target in page.loaded if is_external(target)}


@pytest.mark.parametrize("name", ["rmsd-to-pca", "cluster", "live-simulation", "markov-model"])
def test_tutorial_shows_what_its_cells_print(site: Path, name: str) -> None:
    # The build runs the tutorials, fails if a cell fails, and ends cells that take more than 3 minutes.
    page = (site / "tutorials" / f"{name}.html").read_text(encoding="utf-8")
    assert page.count('class="cell_output') >= 5
    assert "mdreel: error" not in page
    assert "Traceback" not in page


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as serving:
        thread = Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()
        thread.join()


def complaints(browser: Browser) -> list[str]:
    return [entry["message"] for entry in browser.log() if entry["level"] in ("SEVERE", "ERROR")]


def overflow(browser: Browser) -> int:
    """How many pixels of the page lie beside the screen."""
    return int(browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@needs_browser
def test_every_page_fits_a_desktop_and_a_phone_without_an_error(pages: dict[Path, Page], browser: Browser) -> None:
    wrong = []
    for path in pages:
        browser.look_at(path, width=1280)
        if beside := overflow(browser):
            wrong.append(f"{path.name}: {beside} pixels beside a screen of 1,280")
        browser.resize(400)
        if beside := overflow(browser):
            wrong.append(f"{path.name}: {beside} pixels beside a screen of 400")
        wrong += [f"{path.name}: {message}" for message in complaints(browser)]
    assert not wrong


def found_by_search(browser: Browser, url: str, term: str) -> list[str]:
    browser.visit(f"{url}/search.html?q={term.replace(' ', '+')}")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        summary = browser.run("return document.querySelector('#search-results .search-summary')?.textContent ?? ''")
        if "found" in summary.lower() or "did not match" in summary:
            return list(browser.run("return [...document.querySelectorAll('#search-results li a')].map(a => a.href)"))
        time.sleep(0.02)
    raise AssertionError(f"the search for {term} did not end")


@needs_browser
@pytest.mark.parametrize("is_served", [True, False])
def test_search_finds_pages(site: Path, server: str, browser: Browser, is_served: bool) -> None:
    url = server if is_served else site.as_uri()
    for term, page in SEARCHED.items():
        found = found_by_search(browser, url, term)
        assert any(f"{page}.html" in link for link in found), (term, found[:20])
    assert not complaints(browser)
    assert found_by_search(browser, url, "qqxyzzy") == []


@needs_browser
def test_plot_of_a_benchmark_changes_its_scale(site: Path, browser: Browser) -> None:
    browser.look_at(site / "performance" / "index.html")
    places = "return [...document.querySelectorAll('.bench-dot')].map(dot => dot.style.left)"
    before = browser.run(places)
    browser.run("document.querySelector('.bench-linear').click()")
    assert browser.run(places) != before
    browser.run("document.querySelector('.bench-floors').click()")
    assert browser.run("return document.querySelectorAll('.bench-floor:not([hidden])').length") == 0
