"""Tests of the plot that compares channels, of downloads and of the kept layout."""

import csv
import http.client
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np
import pytest

from browser import Browser, why_there_is_none
from growing_file import N_ATOMS
from mdreel.live.producers.producer import Producer
from mdreel.live.watch.comparison import compare
from mdreel.live.watch.server import WatchServer
from mdreel.live.watch.watcher import Watcher
from publishing import publish
from told_notices import Series, Told
from watched_page import address_of, eventually, fill

in_browser = pytest.mark.skipif(why_there_is_none() is not None, reason=str(why_there_is_none()))


@pytest.fixture
def producers(folder: Path) -> Any:
    """Run three channels; two of them have an analysis of the same name."""
    names = ("run1", "run2", "run3")
    with Producer(names[0], N_ATOMS) as a, Producer(names[1], N_ATOMS) as b, Producer(names[2], N_ATOMS) as c:
        for producer in (a, b, c):
            publish(producer, 0)
        Told(folder / "run1", Series(2)).say(n_frames=1000)
        Told(folder / "run2", Series(2)).say(n_frames=40)
        Told(folder / "run3", Series(2), "Other").say(n_frames=40)
        yield a, b, c


def test_series_are_those_of_the_notices(producers: Any) -> None:
    found = compare(Watcher().take_snapshots(), "RMSD", "value_1")
    assert found["unit"] == "Å"
    long, short = found["series"]
    assert (long["channel"], short["channel"]) == ("run1", "run2")
    assert len(long["times"]) == len(long["values"]) == 300
    assert (long["times"][0], long["times"][-1]) == (0.0, 499.5)
    frames = 2 * np.array(long["times"])
    np.testing.assert_allclose(long["values"], np.sin(0.01 * frames + 1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(short["values"], np.sin(0.01 * np.arange(40) + 1), rtol=1e-5, atol=1e-5)
    assert compare(Watcher().take_snapshots(), "RMSD", "time") == {"unit": "", "series": []}


def ask(server: WatchServer, path: str, **query: str) -> tuple[int, dict[str, str], bytes]:
    place = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
    try:
        connection.request("GET", f"{path}?{urlencode(query)}", headers={"Authorization": f"Bearer {server.token}"})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def test_download_has_the_rows_of_the_notice(producers: Any, folder: Path) -> None:
    with WatchServer(Watcher()) as server:
        _, _, state = ask(server, "/state", open=str(folder / "run2"))
        key = next(one for one in json.loads(state)["channels"] if one["name"] == "run2")["analyses"][0]["key"]
        asked = {"channel": str(folder / "run2"), "analysis": key}
        status, heads, content = ask(server, "/results", **asked)
        assert (status, heads["Content-Disposition"]) == (200, 'attachment; filename="run2-RMSD.csv"')
        rows = list(csv.DictReader(io.StringIO(content.decode())))
        assert [int(row["frame"]) for row in rows] == list(range(40))
        values = [float(row["value_1_angstrom"]) for row in rows]
        np.testing.assert_allclose(values, np.sin(0.01 * np.arange(40) + 1), rtol=1e-12)
        status, _, content = ask(server, "/results", **asked, format="npz")
        assert status == 200
        with np.load(io.BytesIO(content)) as arrays:
            assert len(arrays["frame"]) == 40
        for wrong, expected in (
            ({**asked, "format": "../../etc/passwd"}, 409),
            ({**asked, "analysis": "../../../etc/passwd"}, 404),
            ({**asked, "channel": "/etc"}, 404),
            ({"analysis": key}, 404),
        ):
            assert ask(server, "/results", **wrong)[0] == expected
        for path in ("/molecule", "/frame", "/viewer.js", "/analysis-types"):
            assert ask(server, path, channel=str(folder / "run2"))[0] == 404  # there is no topology


@in_browser
def test_channels_are_compared_in_one_plot_and_the_layout_is_kept(
    browser: Browser, running: Callable[..., Any], producers: Any
) -> None:
    url = address_of(running("watch", "--web", "--interval", "0.3"))
    browser.visit(url, 400)
    fill(browser, ".comparison select", json.dumps(["RMSD", "value_1"], separators=(",", ":")))
    series = "return Number(document.querySelector('.comparison svg').dataset.series || 0)"
    eventually(browser, series, lambda n: n == 2)
    lines = browser.run(
        "return [...document.querySelectorAll('.comparison .line')].map((one) => one.getAttribute('d'))"
    )
    assert [line.count("L") for line in lines] == [299, 39]
    legend = browser.run("return document.querySelector('.comparison .legend').innerText")
    assert "run1" in legend
    assert "run2" in legend
    assert "run3" not in legend
    widths = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    eventually(browser, widths, lambda found: found[0] <= found[1] == 400)
    opened = "return [...document.querySelectorAll('.row')].map((one) => one.getAttribute('aria-expanded'))"
    assert browser.run(opened) == ["true"] * 3
    browser.run("document.querySelectorAll('.row')[1].click()")
    assert browser.run(opened) == ["true", "false", "true"]
    browser.visit("about:blank")
    browser.visit(url, 1200)
    eventually(browser, opened, lambda found: found == ["true", "false", "true"])
    eventually(browser, series, lambda n: n == 2)
    assert browser.log() == []
