"""The page of ``mdreel watch --web`` in a browser."""

import subprocess
import sys
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

from browser import Browser

PATIENCE_SECONDS = 90.0
MDREEL = [sys.executable, "-m", "mdreel.cli"]


def address_of(watching: "subprocess.Popen[str]") -> str:
    """The first address that the command prints, which is that of viewers."""
    assert watching.stdout is not None
    url = watching.stdout.readline().split(" ")[0].strip()
    assert url.startswith("http://127.0.0.1:")
    return url


def addresses_of(watching: "subprocess.Popen[str]") -> tuple[str, str]:
    """The addresses of viewers and of operators."""
    viewer = address_of(watching)
    assert watching.stdout is not None
    operator, role = watching.stdout.readline().split()
    assert role == "(operator)"
    return viewer, operator


def eventually(browser: Browser, script: str, is_so: Callable[[Any], bool]) -> Any:
    """Run a script repeatedly until its result meets a condition."""
    until = monotonic() + PATIENCE_SECONDS
    while True:
        found = browser.run(script)
        if is_so(found):
            return found
        assert monotonic() < until, (found, browser.run("return document.body.innerText"))
        sleep(0.1)


def text_of(browser: Browser) -> str:
    """All text that the page shows."""
    return str(browser.run("return document.body.innerText"))


def press(browser: Browser, name: str, within: str = "body") -> None:
    """Press the button of a name that is shown."""
    script = """
    const [name, within] = arguments;
    const found = [...document.querySelectorAll(`${within} button`)]
      .filter((one) => one.textContent === name && one.getClientRects().length);
    if (found.length) found[0].click();
    return found.length;
    """
    until = monotonic() + PATIENCE_SECONDS
    while not browser.run(script, name, within):
        assert monotonic() < until, (name, text_of(browser))
        sleep(0.1)


def fill(browser: Browser, selector: str, value: str) -> None:
    """Enter a value into a control."""
    script = """
    const [selector, value] = arguments;
    const control = document.querySelector(selector);
    if (!control || !control.getClientRects().length) return false;
    control.value = value;
    for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind, { bubbles: true }));
    return control.value === value;
    """
    until = monotonic() + PATIENCE_SECONDS
    while not browser.run(script, selector, value):
        assert monotonic() < until, (selector, value, text_of(browser))
        sleep(0.1)
