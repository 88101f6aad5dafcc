"""Tests of the terminal view."""

import io
import math
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from mdreel.live.channels.manifest import Manifest
from mdreel.live.channels.status import Status
from mdreel.live.notices.notice import Notice
from mdreel.live.notices.process import Process
from mdreel.live.notices.rows import Rows
from mdreel.live.watch.snapshot import AnalysisSnapshot, ChannelSnapshot
from mdreel.live.watch.sparkline import bars, sparkline
from mdreel.live.watch.steering import Event
from mdreel.live.watch.terminal import DisplaySize, render


def seen_channel(name: str, state: str = "running", n_analyses: int = 1) -> ChannelSnapshot:
    """Return a channel with analyses of 300 frames."""
    rows = Rows(3, [(frame, 0.5 * frame, 4.25 * frame / 299) for frame in range(300)])
    columns = (("frame", ""), ("time", "ps"), ("rmsd", "Å"))
    seconds = {"wall": 10.0, "wait": 8.0, "read": 0.5, "compute": 1.0}
    notice = Notice("RMSD", Process(4711, 1), "running", None, 300, columns, 3, True, rows, rows[-1], seconds)
    manifest = Manifest(3341, 0, (("positions", "float32"),))
    path = Path("/channels") / name
    reason = "out of memory" if state == "failed" else None
    return ChannelSnapshot(
        path=path,
        state=state,
        reason=reason,
        status=Status(path, manifest, state, reason, 0, 1234, 7, (0, 3), 64, 2**20),
        frame_bytes=40_000,
        frames_per_second=12.5,
        analyses=tuple(AnalysisSnapshot(f"rmsd-{i}", notice, "RMSD", "running", None) for i in range(n_analyses)),
        history=Rows(3, [(at, at, 0) for at in range(9)]),
    )


def drawn(seen: list[ChannelSnapshot], width: int = 120, height: int = 40) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    console.print(render(seen, DisplaySize(width, height)))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]


def test_channel_and_its_analyses_are_told() -> None:
    lines = drawn([seen_channel("run1")])
    assert lines[0].split() == ["channel", "state", "frames", "per", "second", "lag", "dropped", "latest"]
    assert lines[1].split()[:8] == ["run1", "running", "1,234", "12.5", "0,", "3", "7", "500"]
    assert "▁" in lines[1]
    assert "RMSD 4711" in lines[2]
    assert "rmsd 4.25 Å ▁" in lines[2]
    assert "80 % idle, 5 % moving" in lines[2]


def test_failure_says_why() -> None:
    text = "\n".join(drawn([seen_channel("run1", "failed")]))
    assert "out of memory" in text


def test_what_cannot_be_looked_at_says_why() -> None:
    seen = ChannelSnapshot(Path("/channels/theirs"), "unreadable", "expected user 0 as the owner, got 1")
    assert "unreadable" in drawn([seen])[1]
    assert "expected user 0" in drawn([seen])[1]
    assert "no channels yet" in drawn([])[0]


@pytest.mark.parametrize("n_channels", [1, 3, 64])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60), (40, 10)])
def test_view_is_no_larger_than_the_terminal(n_channels: int, width: int, height: int) -> None:
    states = ("running", "lost", "finished")
    seen = [seen_channel(f"run{i}", states[i % 3], 2) for i in range(n_channels)]
    event = Event(1.7e9, "acted", "unfolded", "checkpoint", 7, 70, 3.5, {"rmsd": 3.5}, "a long message " * 20)
    seen[0] = replace(seen[0], events=(event,) * 8)
    lines = drawn(seen, width, height)
    assert len(lines) < height
    assert all(len(line) <= width for line in lines)
    text = "\n".join(lines)
    assert "acted" in text
    if n_channels == 64:
        assert "more (" in text
        end = next(i for i, line in enumerate(lines) if "more (" in line)
        is_running = [line.split()[1].startswith("run") for line in lines[1:end]]
        assert is_running == sorted(is_running, reverse=True), "those that run come first"
        assert is_running[0]


def test_sparkline_goes_from_the_lowest_to_the_highest() -> None:
    assert sparkline(range(8), 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([1.0, 1.0], 8) == "▄▄"
    assert sparkline([], 8) == sparkline([math.nan], 8) == ""
    assert sparkline([0, math.nan, 1], 3) == "▁ █"
    assert len(sparkline(range(1000), 16)) == 16
    assert bars([0, 1], 5) == [0, 7]
