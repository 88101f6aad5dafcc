"""A real browser without a window: Chromium, told what to do through its WebDriver."""

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root has none
    "--disable-gpu",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    # One process for all pages of a server, which takes half the time.
    "--disable-features=BackForwardCache,ProactivelySwapBrowsingInstance,RenderDocument,SpareRendererForSitePerProcess",
)

_BESIDE = """
const [url, height, widths, done] = arguments;
const frame = document.createElement("iframe");
frame.style = `border: 0; position: absolute; left: 0; top: 0; width: ${widths[0]}px; height: ${height}px`;
frame.onload = () => {
  const found = widths.map(width => {
    frame.style.width = `${width}px`;
    const page = frame.contentDocument.documentElement;
    return page.clientWidth === width ? page.scrollWidth - width : null;
  });
  frame.remove();
  done(found);
};
frame.src = url;
document.body.append(frame);
"""


def why_there_is_none() -> str | None:
    """Say what is missing, or return None."""
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"needs {' and '.join(missing)} (Debian: chromium, chromium-driver)" if missing else None


class Browser:
    """A browser with one page.

    Parameters
    ----------
    url : str
        Where the WebDriver listens.
    folder : Path
        An empty folder for what the browser keeps.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self._open = build_opener(ProxyHandler({})).open
        self._url = url
        options = {"binary": shutil.which("chromium"), "args": [*_FLAGS, f"--user-data-dir={folder}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self._ask("session", {"capabilities": {"alwaysMatch": wanted}})
        self._url = f"{url}/session/{session['sessionId']}"

    def look_at(self, path: Path, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Show a file on a screen of so many pixels."""
        self.visit(path.resolve().as_uri(), width, height, dark)

    def resize(self, width: int, height: int = 900) -> None:
        """Give the screen another size, with the page that it shows."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._tell("Emulation.setDeviceMetricsOverride", screen)

    def visit(self, url: str, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Show what is at an address on a screen of so many pixels."""
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._tell("Emulation.setEmulatedMedia", {"features": [scheme]})
        self._ask("url", {"url": url})

    def beside(self, url: str, widths: list[int], height: int = 900) -> list[int]:
        """Load a page of the server of the page that is shown, and resize it.

        A frame takes half the time of a visit, because the browser keeps the process and the style sheets.

        Returns
        -------
        list of int
            How many pixels of the page lie beside a screen of each width.
        """
        found: list[int] = self._ask("execute/async", {"script": _BESIDE, "args": [url, height, widths]})
        assert None not in found, f"{url} was not shown in the widths {widths}"
        return found

    def run(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript in the page, as the body of a function."""
        return self._ask("execute/sync", {"script": script, "args": arguments})

    def grant(self, url: str, permission: str) -> None:
        """Give a permission to the pages of an address."""
        self._tell("Browser.grantPermissions", {"origin": url.split("/?", maxsplit=1)[0], "permissions": [permission]})

    def point_at(self, x: float, y: float) -> None:
        """Move the pointer to a place of the window."""
        self._tell("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})

    def log(self) -> list[dict[str, Any]]:
        """What the browser had to say since it was last asked."""
        return self._ask("se/log", {"type": "browser"})

    def picture(self, path: Path) -> None:
        """Write a picture of the whole page."""
        asked = {"format": "png", "captureBeyondViewport": True}
        path.write_bytes(base64.b64decode(self._tell("Page.captureScreenshot", asked)["data"]))

    def quit(self) -> None:
        """End it."""
        self._open(Request(self._url, method="DELETE"), timeout=60).close()

    def _tell(self, command: str, parameters: dict[str, Any]) -> Any:
        return self._ask("goog/cdp/execute", {"cmd": command, "params": parameters})

    def _ask(self, what: str, body: dict[str, Any]) -> Any:
        request = Request(f"{self._url}/{what}", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with self._open(request, timeout=60) as answer:
            return json.load(answer)["value"]


@contextmanager
def open_browser(folder: Path) -> Iterator[Browser]:
    """Give a browser for a while."""
    driver = subprocess.Popen(
        [str(shutil.which("chromedriver")), "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert driver.stdout is not None
        port = next(found[1] for line in driver.stdout if (found := re.search(r"successfully on port (\d+)", line)))
        browser = Browser(f"http://127.0.0.1:{port}", folder)
        try:
            yield browser
        finally:
            browser.quit()
    finally:
        driver.terminate()
        driver.communicate()
