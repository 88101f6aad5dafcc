"""Tests of the page in a browser: analyses and alerts of operators, and what viewers cannot do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browser import Browser, why_there_is_none
from watched_page import addresses_of, eventually, fill, press, text_of

pytestmark = pytest.mark.skipif(why_there_is_none() is not None, reason=str(why_there_is_none()))

STATES = "return [...document.querySelectorAll('.analysis')].map((one) => one.querySelector('.state').innerText)"
NAMES = "return [...document.querySelectorAll('.analysis h3 > span:first-child')].map((one) => one.innerText)"
POINTS = "return [...document.querySelectorAll('.analysis .chart svg')].map((svg) => Number(svg.dataset.points || 0))"
FORM_REASON = "return document.querySelector('.analysis-form .reason').innerText"
WIDTHS = "const page = document.documentElement; return [page.scrollWidth, page.clientWidth]"


@pytest.fixture
def simulation(running: Callable[..., Any], adk: dict[str, Path]) -> Any:
    """Start a simulation that runs for minutes, and whose RMSD grows to about 7 Å every five seconds."""
    return running("produce", *[adk["dcd"]] * 100, "--channel", "run1", "--rate", "20", "-q")


def test_operator_adds_changes_pauses_and_removes_an_analysis(
    browser: Browser, running: Callable[..., Any], adk: dict[str, Path], simulation: Any, tmp_path: Path
) -> None:
    watching = running("watch", "--web", "--interval", "0.3", "--operate", "-s", adk["psf"])
    _, url = addresses_of(watching)
    browser.visit(url, 1280)
    press(browser, "Add an analysis")
    fill(browser, ".analysis-form select[name=type]", "rmsd")
    fill(browser, ".analysis-form input[name=select]", "name XX")
    fill(browser, ".analysis-form input[name=tol-mass]", "-1")
    browser.run("document.querySelector('.analysis-form').noValidate = true")  # the server must refuse it, too
    press(browser, "Add")
    eventually(browser, FORM_REASON, lambda reason: "tol-mass must be 0 or more, not -1" in reason)
    fill(browser, ".analysis-form input[name=tol-mass]", "")
    fill(browser, ".analysis-form input[name=name]", "<b>Opening</b>")
    press(browser, "Add")
    eventually(browser, STATES, lambda states: states == ["failed"])
    assert "name XX" in text_of(browser)
    assert browser.run(NAMES) == ["<b>Opening</b>"]

    press(browser, "Change", ".analysis")
    kept = browser.run("return document.querySelector('.analysis-form input[name=select]').value")
    assert kept == "name XX"
    fill(browser, ".analysis-form input[name=select]", "name CA")
    press(browser, "Restart with these settings")
    eventually(browser, STATES, lambda states: states == ["running"])
    eventually(browser, POINTS, lambda points: len(points) == 1 and points[0] > 10)
    assert "rmsd (Å)" in text_of(browser)

    press(browser, "Pause", ".analysis")
    eventually(browser, STATES, lambda states: states == ["paused"])
    frames = "return Number(document.querySelector('.figures b').innerText.replaceAll(',', ''))"
    seen = []
    for _ in range(2):
        before = browser.run(frames)
        eventually(browser, frames, lambda n, before=before: n > before + 60)
        seen += browser.run(POINTS)
    still = seen[0]
    assert seen == [still, still]
    press(browser, "Resume", ".analysis")
    eventually(browser, STATES, lambda states: states == ["running"])
    eventually(browser, POINTS, lambda points: points[0] > still + 10)
    scroll_width, client_width = browser.run(WIDTHS)
    assert scroll_width <= client_width
    browser.picture(tmp_path / "operator.png")

    press(browser, "Remove", ".analysis")
    eventually(browser, STATES, lambda states: states == [])
    assert "name XX" not in text_of(browser)
    bad = [one for one in browser.log() if "400 (Bad Request)" not in one["message"]]
    assert bad == []


def test_viewer_cannot_operate(
    browser: Browser, running: Callable[..., Any], adk: dict[str, Path], simulation: Any
) -> None:
    watching = running("watch", "--web", "--interval", "0.3", "--operate", "-s", adk["psf"], "--alert", "rmsd>3")
    viewer, operator = addresses_of(watching)
    browser.visit(operator)
    press(browser, "Add an analysis")
    fill(browser, ".analysis-form select[name=type]", "rmsd")
    press(browser, "Add")
    eventually(browser, STATES, lambda states: states == ["running"])
    browser.visit(viewer)
    eventually(browser, STATES, lambda states: states == ["running"])
    shown = browser.run(
        "return [...document.querySelectorAll('button')].filter((one) => one.getClientRects().length)"
        ".map((one) => one.textContent)"
    )
    assert not {"Add an analysis", "Change", "Pause", "Remove", "Add alert"} & set(shown)
    refused = """
    const token = new URLSearchParams(location.search).get("token");
    return fetch("operate", {
      method: "POST", headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ do: "remove-analysis", id: 1 }),
    }).then(async (answer) => [answer.status, await answer.text()]);
    """
    status, words = browser.run(refused)
    assert status == 403
    assert "This address may only look" in words
    assert browser.run(STATES) == ["running"]


def test_alert_fires_on_the_page_and_in_the_browser_and_runs_the_command(
    browser: Browser, running: Callable[..., Any], adk: dict[str, Path], simulation: Any, tmp_path: Path
) -> None:
    told = tmp_path / "told.jsonl"
    script = tmp_path / "tell.sh"
    script.write_text(f'#!/bin/sh\necho "$MDREEL_ALERT at $MDREEL_VALUE" >> {told}\n')
    script.chmod(0o755)
    options = ["--operate", "-s", adk["psf"], "--on-alert", script]
    _, url = addresses_of(running("watch", "--web", "--interval", "0.3", *options))
    analysis = running("rmsd", "-s", adk["psf"], "--channel", "run1", "--wait", "60", "-o", "rmsd.csv", "-q")
    browser.grant(url, "notifications")
    browser.visit(url)
    eventually(browser, STATES, lambda states: states == ["running"])
    browser.run("""
    const Real = window.Notification;
    window.shown = [];
    window.Notification = class extends Real {
      constructor(title, options) { super(title, options); window.shown.push([title, options.body]); }
    };
    """)
    fill(browser, ".alert-form input", "3")
    press(browser, "Add alert")
    limits = "return [...document.querySelectorAll('.threshold')].map((one) => one.innerText)"
    eventually(browser, limits, lambda found: len(found) == 1 and found[0].startswith("RMSD: rmsd > 3"))
    events = "return [...document.querySelectorAll('.alerts ol li')].map((one) => one.innerText)"
    (first, *_) = eventually(browser, events, lambda found: len(found) > 0)
    assert "rmsd > 3" in first
    eventually(browser, "return window.shown", lambda shown: shown and shown[0][0] == "run1: rmsd > 3")
    while not told.exists() or not told.read_text().endswith("\n"):
        assert analysis.poll() is None
    label, value = told.read_text().splitlines()[0].split(" at ")
    assert label == "rmsd > 3"
    assert float(value) > 3
    press(browser, "Remove", ".alerts")
    eventually(browser, limits, lambda found: found == [])
    browser.resize(400)
    eventually(browser, WIDTHS, lambda widths: widths[0] <= widths[1] == 400)
    assert json.dumps(browser.log()) == "[]"
