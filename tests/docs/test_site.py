"""The built site: links, files that pages load, and what a browser shows on a desktop and on a phone."""

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from architecture.checkout import ROOT
from browser import Browser, open_browser, why_there_is_none
from docs.site_pages import Page, broken_links, is_external

GALLERY = ROOT / "docs" / "gallery"
FEWEST_COLOURS = 20
"""Of a picture of the gallery."""
SCREENS = [1280, 400]
"""Widths of a desktop and of a phone, in pixels."""

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


@pytest.mark.parametrize("name", sorted(path.stem for path in GALLERY.glob("*.py")))
def test_picture_of_the_gallery_is_not_empty(site: Path, name: str) -> None:
    # The build draws the pictures, and fails if a script fails or mdreel warns.
    from PIL import Image

    with Image.open(GALLERY / "pages" / f"{name}.png") as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape[0] >= 250
    assert pixels.shape[1] >= 600
    height, width, _ = pixels.shape
    middle = pixels[height // 8 : -height // 6, width // 8 : -width // 8].reshape(-1, 3)
    colours = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    assert len(np.unique(colours)) >= FEWEST_COLOURS
    is_coloured = np.ptp(middle.astype(np.int64), axis=1) > 30
    assert is_coloured.mean() > 0.002, "nothing is drawn in the axes"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


EMPTY_PAGE = "/empty-page"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Give the address of a server of the files of a folder for a while."""

    class Quiet(SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path != EMPTY_PAGE:
                super().do_GET()
                return
            content = b"<!doctype html><link rel=icon href='data:,'>"  # without it, the browser asks for favicon.ico
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def end_headers(self) -> None:
            self.send_header("Cache-Control", "max-age=3600")  # scripts and styles of all pages
            super().end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as serving:
        thread = Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[str]:
    with served(site) as address:
        yield address


def complaints(browser: Browser) -> list[str]:
    return [entry["message"] for entry in browser.log() if entry["level"] in ("SEVERE", "ERROR")]


def faults(browser: Browser, folder: Path, address: str, pages: Iterable[Path]) -> list[str]:
    """Return what does not fit a desktop or a phone, and the errors of the browser."""
    wrong = []
    browser.visit(address + EMPTY_PAGE, width=max(SCREENS))
    browser.log()
    for path in pages:
        beside = browser.beside(f"{address}/{path.relative_to(folder).as_posix()}", SCREENS)
        wrong += [
            f"{path.name}: {n_pixels} pixels beside a screen of {width:,}"
            for n_pixels, width in zip(beside, SCREENS, strict=True)
            if n_pixels
        ]
        wrong += [f"{path.name}: {message}" for message in complaints(browser)]
    return wrong


@needs_browser
def test_every_page_fits_a_desktop_and_a_phone_without_an_error(
    site: Path, server: str, pages: dict[Path, Page], browser: Browser
) -> None:
    assert not faults(browser, site, server, pages)


@needs_browser
def test_page_that_is_too_wide_or_has_an_error_is_found(tmp_path: Path, browser: Browser) -> None:
    contents = {
        "fits": "<p>narrow</p>",
        "wide": "<div style='width: 700px'>wide</div>",
        "error": "<script>throw new Error('planted')</script>",
        "missing": "<script src='none.js'></script>",
    }
    pages = [tmp_path / f"{name}.html" for name in contents]
    for path, content in zip(pages, contents.values(), strict=True):
        path.write_text(f"<!doctype html><body style='margin: 0'>{content}</body>", encoding="utf-8")
    with served(tmp_path) as address:
        found = faults(browser, tmp_path, address, pages)
    assert found[0] == "wide.html: 300 pixels beside a screen of 400"
    assert [message.partition(":")[0] for message in found] == ["wide.html", "error.html", "missing.html"]
    assert "planted" in found[1]
    assert "none.js" in found[2]


def test_pages_load_the_index_of_the_search_only_to_search(site: Path, pages: dict[Path, Page]) -> None:
    loading = [path for path, page in pages.items() if any("searchindex" in target for target in page.loaded)]
    assert loading == [site / "search.html"]


SEARCH_AGAIN = """
document.getElementById("search-results").replaceChildren();
Search.performSearch(arguments[0]);
"""
SUMMARY = "return document.querySelector('#search-results .search-summary')?.textContent"
FOUND = "return [...document.querySelectorAll('#search-results li a')].map(a => a.href)"
EXCERPTS = "return [...document.querySelectorAll('#search-results li .context')].map(excerpt => excerpt.textContent)"


def shown(browser: Browser, script: str) -> Any:
    """Wait until a script returns something, and return it."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if found := browser.run(script):
            return found
        time.sleep(0.02)
    raise AssertionError(f"the page shows nothing for {script}")


def found_by_search(browser: Browser) -> list[str]:
    """Return the pages that the search has found when it has ended."""
    assert re.search("found|did not match", shown(browser, SUMMARY))
    return list(browser.run(FOUND))


@needs_browser
def test_search_finds_pages(site: Path, browser: Browser) -> None:
    browser.visit(f"{site.as_uri()}/search.html?q=qqxyzzy")
    assert found_by_search(browser) == []
    for term, page in SEARCHED.items():
        browser.run(SEARCH_AGAIN, term)
        found = found_by_search(browser)
        assert any(f"{page}.html" in link for link in found), (term, found[:20])
    assert not complaints(browser)


@needs_browser
def test_search_on_a_server_shows_excerpts(server: str, browser: Browser) -> None:
    browser.visit(f"{server}/search.html?q=straggler")
    assert any("reference/glossary.html" in link for link in found_by_search(browser))
    assert any("straggler" in excerpt.lower() for excerpt in shown(browser, EXCERPTS))
    assert not complaints(browser)


@needs_browser
def test_plot_of_a_benchmark_changes_its_scale(site: Path, browser: Browser) -> None:
    browser.look_at(site / "performance" / "index.html")
    places = "return [...document.querySelectorAll('.bench-dot')].map(dot => dot.style.left)"
    before = browser.run(places)
    browser.run("document.querySelector('.bench-linear').click()")
    assert browser.run(places) != before
    browser.run("document.querySelector('.bench-floors').click()")
    assert browser.run("return document.querySelectorAll('.bench-floor:not([hidden])').length") == 0
