"""Notices of an analysis that computes a sine, and who reads them."""

from pathlib import Path

import numpy as np

from mdreel.analysis.base.observer import ResultsView
from mdreel.live.notices.file import NoticeFile
from mdreel.live.notices.notice_board import _PublishedNotice
from mdreel.live.notices.reader import NoticeReader, list_notices
from mdreel.results.column import Column


class Series:
    """Results of so many frames."""

    def __init__(self, n_values: int = 1) -> None:
        self.n_frames = 0
        self.n_values = n_values

    def columns(self) -> list[Column]:
        frames = np.arange(self.n_frames)
        values = [Column(f"value_{i}", "Å", np.sin(0.01 * frames + i)) for i in range(self.n_values)]
        return [Column("frame", "", frames), Column("time", "ps", 0.5 * frames), *values]


class Told:
    """The notice of an analysis, and who reads it."""

    def __init__(self, channel: Path, series: Series, name: str = "RMSD") -> None:
        self.series = series
        self.told = _PublishedNotice(NoticeFile(channel, name), ResultsView(name, series.columns))
        before = set(list_notices(channel))
        self.say("running", has_results=False)
        (self.path,) = set(list_notices(channel)) - before
        self.reader = NoticeReader(self.path)

    def say(self, state: str = "running", *, n_frames: int = 0, has_results: bool = True) -> None:
        self.series.n_frames += n_frames
        self.told.say(self.series.n_frames, {"wall": 2.0, "wait": 1.0}, state, None, has_results=has_results)
