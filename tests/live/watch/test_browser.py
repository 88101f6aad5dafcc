"""Tests of the page in a browser during a simulation and an analysis."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from browser import Browser, why_there_is_none
from growing_file import N_ATOMS
from mdreel.live.producers.producer import Producer
from publishing import publish
from steering_lines import line
from told_notices import Series, Told
from watched_page import address_of, eventually, text_of

pytestmark = pytest.mark.skipif(why_there_is_none() is not None, reason=str(why_there_is_none()))

POINTS = "return [...document.querySelectorAll('.analysis .chart svg')].map((svg) => Number(svg.dataset.points || 0));"
WIDTHS = "const page = document.documentElement; return [page.scrollWidth, page.clientWidth];"
OVERFLOWING = """
const width = document.documentElement.clientWidth;
return [...document.body.querySelectorAll("*")].filter((element) => {
  const box = element.getBoundingClientRect();
  return box.width && (box.left < -1 || box.right > width + 1);
}).map((element) => element.outerHTML.slice(0, 120));
"""
# Text of a chart that lies upon other text of it.
OVERLAPPING = """
const found = [];
for (const svg of document.querySelectorAll(".chart svg")) {
  const boxes = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  boxes.forEach(([a, one], i) => boxes.slice(i + 1).forEach(([b, other]) => {
    const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    if (across > 1 && down > 4) found.push([svg.getAttribute("aria-label"), a, b]);
  }));
}
return found;
"""


def test_curve_grows_while_simulation_and_analysis_run(
    browser: Browser, running: Callable[..., Any], adk: dict[str, Path], folder: Path
) -> None:
    simulation = running("produce", *[adk["dcd"]] * 50, "--channel", "run1", "--rate", "20", "--consumers", "1", "-q")
    analysis = running("rmsd", "-s", adk["psf"], "--channel", "run1", "--wait", "60", "-o", "rmsd.csv", "-q")
    url = address_of(running("watch", "--web", "--interval", "0.3"))
    browser.visit(url, 1280)
    (first,) = eventually(browser, POINTS, lambda points: len(points) == 1 and points[0] > 2)
    (later,) = eventually(browser, POINTS, lambda points: points[0] > first + 10)
    with (folder / "run1" / "steering.jsonl").open("wb") as log:
        log.write(line(7) + line(8)[:20])
    eventually(browser, "return document.querySelector('.log').innerText", lambda text: "number 7" in text)
    text = text_of(browser)
    assert "run1" in text
    assert "rmsd (Å)" in text
    assert f"process {analysis.pid}" in text
    assert "number 8" not in text
    paths = browser.run("return [...document.querySelectorAll('.chart .line')].map((path) => path.getAttribute('d'))")
    assert len(paths) == 3
    assert all(len(path) > 20 for path in paths[:1])
    # The line has as many points as were said.
    assert paths[0].count("L") + paths[0].count("M") >= later
    analysis.kill()
    eventually(browser, "return document.querySelector('.analysis .state').innerText", lambda state: state == "dead")
    simulation.kill()
    eventually(browser, "return document.querySelector('.channel .state').innerText", lambda state: state == "lost")
    assert browser.log() == []
    requests = browser.run("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert {urlsplit(name).netloc for name in requests} == {urlsplit(url).netloc}
    assert all("token" not in name for name in requests)


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("n_channels", [1, 6])
def test_page_fits_a_phone_and_a_desk(
    browser: Browser, running: Callable[..., Any], folder: Path, width: int, dark: bool, n_channels: int
) -> None:
    names = [
        "a-rather-long-name-of-a-channel-that-somebody-has-given-to-it-001"[:64],
        *(f"run{i}" for i in range(1, 6)),
    ]
    with ExitStack() as stack:
        for name in names[:n_channels]:
            producer = stack.enter_context(Producer(name, N_ATOMS, n_slots=8))
            publish(producer, 0)
            (folder / name / "steering.jsonl").write_bytes(line(1, message="word " * 30 + "x" * 200))
            told = Told(folder / name, Series(5), "An analysis with " + "a-long-name-" * 6)
            told.say(n_frames=3000)
        browser.visit(address_of(running("watch", "--web", "--interval", "0.3")), width, dark=dark)
        n_cards = "return document.querySelectorAll('.channel').length"
        eventually(browser, n_cards, lambda n: n == n_channels)
        if n_channels > 4:  # many are closed at first
            assert browser.run(POINTS) == []
            browser.run("document.querySelector('.row').click()")
        eventually(browser, POINTS, lambda points: len(points) == 5 and min(points) > 300)
        scroll_width, client_width = browser.run(WIDTHS)
        assert scroll_width <= client_width == width
        assert browser.run(OVERFLOWING) == []
        assert browser.run(OVERLAPPING) == []
        colours = "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color];"
        back, ink = (sum(map(int, colour[4:-1].split(","))) for colour in browser.run(colours))
        assert (back < ink) == dark
        assert browser.log() == []


def test_page_without_its_token_is_refused(browser: Browser, running: Callable[..., Any]) -> None:
    url = address_of(running("watch", "--web"))
    for wrong in (url.split("?")[0], url[:-1], f"{url}x"):
        browser.visit(wrong)
        assert text_of(browser).strip() == "Forbidden"
    browser.log()  # which has these refusals
    browser.visit(url)
    eventually(browser, "return document.getElementById('said').innerText", lambda text: "nobody publishes" in text)
    assert browser.log() == []


def test_names_are_text_and_not_markup(browser: Browser, running: Callable[..., Any], folder: Path) -> None:
    nasty = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    with Producer("run1", N_ATOMS, n_slots=8) as producer:
        publish(producer, 0)
        (folder / "run1" / "steering.jsonl").write_bytes(line(1, message=nasty, rule=nasty, event=nasty))
        Told(folder / "run1", Series(), nasty).say(n_frames=3)
        browser.visit(address_of(running("watch", "--web")))
        eventually(browser, POINTS, lambda points: points == [3])
        assert text_of(browser).count(nasty) == 4
        assert browser.run("return document.querySelectorAll('img, main script').length") == 0
        assert browser.log() == []


def test_page_says_when_nobody_answers_any_more(browser: Browser, running: Callable[..., Any]) -> None:
    watching = running("watch", "--web", "--interval", "0.3")
    browser.visit(address_of(watching))
    said = "return document.getElementById('said').innerText"
    eventually(browser, said, lambda text: "nobody publishes" in text)
    watching.kill()
    eventually(browser, said, lambda text: "no answer" in text)
