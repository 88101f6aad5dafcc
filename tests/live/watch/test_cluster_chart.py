"""Test of the chart of clusters over time in a browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import Browser, why_there_is_none
from growing_file import N_ATOMS
from mdreel.analysis.base.observer import ResultsView
from mdreel.live.notices.file import NoticeFile
from mdreel.live.notices.notice_board import _PublishedNotice
from mdreel.live.producers.producer import Producer
from mdreel.results.column import Column
from publishing import publish
from watched_page import address_of, eventually

pytestmark = pytest.mark.skipif(why_there_is_none() is not None, reason=str(why_there_is_none()))

PATHS = "return [...document.querySelectorAll('.analysis .chart .line')].map((path) => path.getAttribute('d'));"
TICKS = "return [...document.querySelectorAll('.analysis .chart .end')].map((text) => text.textContent);"


def test_clusters_over_time_are_dots_at_whole_numbers(
    browser: Browser, running: Callable[..., Any], folder: Path
) -> None:
    frames = np.arange(40)
    clusters = np.where(frames < 20, 0, frames % 3)
    columns = [Column("frame", "", frames), Column("time", "ps", 0.5 * frames), Column("cluster", "", clusters)]
    with Producer("run1", N_ATOMS, n_slots=8) as producer:
        publish(producer, 0)
        told = _PublishedNotice(NoticeFile(folder / "run1", "clusters"), ResultsView("clusters", lambda: columns))
        told.say(40, {}, "running", None, has_results=True)
        browser.visit(address_of(running("watch", "--web", "--interval", "0.3")), 1280)
        (path,) = eventually(browser, PATHS, lambda paths: len(paths) == 1 and paths[0])
        assert (path.count("M"), path.count("h0"), path.count("L")) == (40, 40, 0)
        assert len({dot.split(" ")[1] for dot in path.split("M")[1:]}) == 3
        ticks = browser.run(TICKS)
        assert ticks[:3] == ["0", "1", "2"]
        assert browser.log() == []
