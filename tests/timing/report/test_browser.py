"""The page in a real browser: nothing is wrong, everything is drawn, and everything can be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import Browser, open_browser, why_there_is_none
from mdreel.timing.report.page import write_report

pytestmark = pytest.mark.skipif(why_there_is_none() is not None, reason=str(why_there_is_none()))

LOOKS = {"wide": (1200, False), "dark": (1200, True), "narrow": (400, False)}

BOXES = """
const box = (element) => { const b = element.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; };
return [...document.querySelectorAll(arguments[0])].map((element) => [element.outerHTML.slice(0, 80), ...box(element)]);
"""
OVERFLOWING = """
const width = document.documentElement.clientWidth;
return [...document.body.querySelectorAll("*")]
  .filter((element) => !element.closest(".scroll, .tip, .layer"))
  .filter((element) => {
    const box = element.getBoundingClientRect();
    const isTooSmall = element.matches("div, p, section") && element.scrollWidth > element.clientWidth + 1;
    return box.width && (isTooSmall || box.left < -1 || box.right > width + 1);
  })
  .map((element) => element.outerHTML.slice(0, 120));
"""
# Text of one drawing that lies upon other text of it.
OVERLAPPING = """
const found = [];
for (const canvas of document.querySelectorAll("svg.canvas")) {
  const texts = [...canvas.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  const seen = texts.filter(([_, box]) => box.width > 0);
  for (let i = 0; i < seen.length; i++) {
    for (let j = i + 1; j < seen.length; j++) {
      const [a, b] = [seen[i][1], seen[j][1]];
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 4) found.push([canvas.getAttribute("aria-label"), seen[i][0], seen[j][0]]);
    }
  }
}
return found;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module", params=["few_ranks", "short_run", "many_ranks"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "run.html"
    write_report(request.getfixturevalue(request.param), path)
    return path


@pytest.fixture(params=LOOKS)
def shown(request: pytest.FixtureRequest, browser: Browser, page: Path) -> Browser:
    width, dark = LOOKS[request.param]
    browser.look_at(page, width, dark=dark)
    return browser


def boxes(browser: Browser, selector: str) -> list[list[Any]]:
    return browser.run(BOXES, selector)


def test_browser_has_nothing_to_complain_of(shown: Browser) -> None:
    shown.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert shown.log() == []
    assert shown.run("return performance.getEntriesByType('resource').length") == 0
    assert shown.run("return location.protocol") == "file:"


def test_every_figure_is_drawn(shown: Browser) -> None:
    for selector, least in (("section.card", 10), ("svg.canvas", 6), ("svg.layer path[d]:not([d=''])", 15)):
        found = boxes(shown, selector)
        assert len(found) >= least
        assert [what for what, _, _, width, height in found if width <= 0 or height <= 0] == []
    for what, _, _, width, height in boxes(shown, "svg.canvas"):
        assert width > 150, what
        assert height > 20, what


def test_nothing_is_wider_than_the_screen(shown: Browser) -> None:
    shown.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert shown.run(OVERFLOWING) == []
    assert shown.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_tables_need_no_scrolling_on_a_wide_screen(browser: Browser, page: Path) -> None:
    browser.look_at(page)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    script = "return [...document.querySelectorAll('.scroll')].map((one) => one.scrollWidth - one.clientWidth)"
    assert max(browser.run(script)) <= 0


def test_no_text_lies_upon_other_text(shown: Browser) -> None:
    assert shown.run(OVERLAPPING) == []


def test_pointing_at_a_bar_says_what_it_is(browser: Browser, page: Path) -> None:
    browser.look_at(page)
    assert browser.run("return document.querySelector('.tip').hidden")
    browser.run("document.querySelector('#workers .plot').scrollIntoView({block: 'center'})")
    ((_, left, top, width, height),) = boxes(browser, "#workers svg.canvas")
    browser.point_at(left + width / 3, top + height / 2)
    said = browser.run("const tip = document.querySelector('.tip'); return tip.hidden ? '' : tip.textContent")
    assert said.startswith("worker ")
    assert "read" in said


TIP = "const tip = document.querySelector('.tip'); return tip.hidden ? '' : tip.textContent"
IN_VIEW = """
const box = document.querySelector('.tip').getBoundingClientRect();
return box.left >= 0 && box.right <= document.documentElement.clientWidth && box.top >= 0;
"""


def test_every_term_is_explained_by_pointer_keyboard_and_touch(shown: Browser) -> None:
    definition = "document.getElementById(arguments[0].getAttribute('aria-describedby')).textContent"
    shown.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for event in ("focus", "click", "pointerenter"):
        script = """
            const event = arguments[0];
            const tip = document.querySelector('.tip');
            const wrong = [];
            for (const term of document.querySelectorAll('.term')) {
              if (!term.getClientRects().length) continue;
              document.activeElement.blur();
              tip.hidden = true;
              if (event === 'focus') term.focus({preventScroll: true});
              else term.dispatchEvent(new Event(event, {bubbles: true}));
              const said = document.getElementById(term.getAttribute('aria-describedby')).textContent;
              const isOnScreen = term.getBoundingClientRect().bottom >= 0
                && term.getBoundingClientRect().top <= window.innerHeight;
              if (isOnScreen && (tip.hidden || tip.textContent !== said)) wrong.push(term.textContent);
              if (!said || term.tabIndex < 0) wrong.push(term.textContent);
            }
            return wrong;
        """
        assert shown.run(script, event) == [], event
    # Each term can be reached on every screen.
    script = """
        const names = (terms) => new Set([...terms].map((term) => term.getAttribute('aria-describedby')));
        const terms = [...document.querySelectorAll('.term')];
        return names(terms).size - names(terms.filter((term) => term.getClientRects().length)).size;
    """
    assert shown.run(script) == 0
    shown.run("document.querySelector('.timing .term').scrollIntoView({block: 'center'})")
    shown.run("document.querySelector('.timing .term').focus()")
    first = shown.run(f"arguments[0] = document.querySelector('.timing .term'); return {definition}", None)
    assert shown.run(TIP) == first
    assert shown.run(IN_VIEW)
    shown.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert shown.run(TIP) == ""


def test_arrow_keys_show_the_numbers_of_a_figure(browser: Browser, page: Path) -> None:
    browser.look_at(page)
    browser.run("document.querySelector('#workers .plot').focus()")
    press = """
        const event = new KeyboardEvent('keydown', {key: arguments[0]});
        document.querySelector('#workers .plot').dispatchEvent(event);
    """
    said = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        browser.run(press, key)
        said.append(browser.run(TIP))
    assert said[0].startswith("worker ")
    assert said[0] == said[2] != said[1]


def test_picture_of_the_results_fits_every_screen(shown: Browser) -> None:
    script = """
        const one = document.querySelector('.picture img');
        return [one.complete && one.naturalWidth > 0, one.getBoundingClientRect().right <= innerWidth];
    """
    assert shown.run(script) == [True, True]


def test_nothing_is_cut_off_on_a_phone_without_scrolling_but_the_table_of_observables(
    browser: Browser, page: Path
) -> None:
    browser.look_at(page, 400)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    script = """
        return [...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth + 1)
            .map((one) => one.closest('section').id);
    """
    assert browser.run(script) == ["observables"]


def test_page_is_dark_where_that_is_wanted(browser: Browser, page: Path) -> None:
    seen = {}
    for dark in (False, True):
        browser.look_at(page, dark=dark)
        script = "return getComputedStyle(document.body)[arguments[0]].match(/\\d+/g).map(Number)"
        seen[dark] = [sum(browser.run(script, name)) for name in ("backgroundColor", "color")]
    assert seen[False][0] > seen[False][1]
    assert seen[True][0] < seen[True][1]
