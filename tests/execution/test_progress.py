"""The progress bar: where it shows, where it is silent, and what it says."""

import io
import json
import re
import subprocess
import sys

import pytest

from mdreel.execution.progress import Progress, describe


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


def test_progress_is_silent_in_a_pipe():
    stream, clock = io.StringIO(), Clock()
    with Progress("RMSD", 10, stream=stream, clock=clock) as progress:
        clock.seconds = 5
        progress.update(10)
    assert stream.getvalue() == ""


def test_progress_is_silent_when_it_is_not_enabled():
    stream, clock = Terminal(), Clock()
    with Progress("RMSD", 10, enabled=False, stream=stream, clock=clock) as progress:
        clock.seconds = 5
        progress.update(10)
    assert stream.getvalue() == ""


def test_progress_shows_rate_and_time_left_on_a_terminal():
    stream, clock = Terminal(), Clock()
    with Progress("RMSD", 50_000, stream=stream, clock=clock) as progress:
        clock.seconds = 2
        progress.update(10_000)
    assert "RMSD" in stream.getvalue()
    assert "10,000/50,000 frames · 5,000 frames/s · 8.0 s left" in stream.getvalue()


def test_progress_needs_no_bar_when_a_run_is_short():
    stream, clock = Terminal(), Clock()
    with Progress("RMSD", 100, stream=stream, clock=clock) as progress:
        for frames in range(101):
            clock.seconds += 0.001
            progress.update(frames)
    assert stream.getvalue() == ""


def test_progress_redraws_at_most_five_times_a_second():
    stream, clock = Terminal(), Clock()
    with Progress("RMSD", 10_000, stream=stream, clock=clock) as progress:
        for frames in range(10_000):
            clock.seconds = frames / 1_000
            progress.update(frames)
    assert 10 < stream.getvalue().count("frames/s") < 60


def test_progress_shows_the_cursor_again_when_the_run_fails():
    stream, clock = Terminal(), Clock()

    def run():
        with Progress("RMSD", 10, stream=stream, clock=clock) as progress:
            clock.seconds = 1
            progress.update(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert stream.getvalue().rindex("\x1b[?25h") > stream.getvalue().rindex("\x1b[?25l")


def screen(written: str, width: int) -> list[str]:
    """The lines of a terminal after a text that may wrap, with the control sequences of a progress bar."""
    lines, row, column = [[" "] * width], 0, 0
    for piece in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|.", written, re.DOTALL):
        if piece == "\x1b[2K":
            lines[row] = [" "] * width
        elif piece.startswith("\x1b[") and piece.endswith("A"):
            row -= int(piece[2:-1])
        elif piece == "\r":
            column = 0
        elif piece == "\n" or (not piece.startswith("\x1b") and column == width):
            row, column = row + 1, 0
            lines += [[" "] * width] * (row == len(lines))
        if piece >= " ":
            lines[row][column] = piece
            column += 1
    return ["".join(line).rstrip() for line in lines]


def test_progress_leaves_an_empty_screen_after_ctrl_c(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    stream, clock = Terminal(), Clock()

    def run():
        with Progress("RMSD", 10, stream=stream, clock=clock) as progress:
            for frames in (3, 6):
                clock.seconds += 1
                progress.update(frames)
            assert screen(stream.getvalue(), 80)[0].startswith("RMSD")
            stream.write("^C")  # as the terminal does
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    stream.write("no results were kept\n")
    assert [line for line in screen(stream.getvalue(), 80) if line] == ["no results were kept"]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ((0, 98, 0.0), "0/98 frames · 0 frames/s"),
        ((500, 1_000, 0.5), "500/1,000 frames · 1,000 frames/s · 0.5 s left"),
        ((1_234, None, 1.0), "1,234 frames · 1,230 frames/s"),
        ((1_000_000, 4_000_000, 30.0), "1,000,000/4,000,000 frames · 33,300 frames/s · 1:30 min left"),
        ((1, 7_201, 1.0), "1/7,201 frames · 1 frames/s · 2:00:00 left"),
        ((98, 98, 0.25), "98/98 frames · 392 frames/s · 0.2 s in all"),
    ],
)
def test_describe_says_frames_rate_and_time(facts, expected):
    assert describe(*facts) == expected


def test_progress_imports_rich_only_when_it_draws():
    program = "import sys, mdreel.execution.progress; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


NOTEBOOK = """
import json, sys
from ipykernel.inprocess import InProcessKernelManager

manager = InProcessKernelManager()
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready()
client.execute('''
from mdreel.execution.progress import Progress
seconds = iter(range(100))
with Progress("RMSD <1>", 98, clock=lambda: next(seconds)) as progress:
    progress.update(49)
    progress.update(98)
''')
while client.iopub_channel.msg_ready():
    message = client.get_iopub_msg(timeout=1)
    if "data" in message["content"] or message["msg_type"] == "error":
        print(json.dumps([message["msg_type"], message["content"]]), file=sys.__stdout__)
"""


def test_progress_draws_one_bar_in_a_notebook():
    pytest.importorskip("ipykernel.inprocess")
    notebook = subprocess.run([sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, check=True)
    shown = [json.loads(line) for line in notebook.stdout.splitlines() if line.startswith("[")]
    assert [kind for kind, _ in shown] == ["display_data"] + ["update_display_data"] * 3
    assert len({content["transient"]["display_id"] for _, content in shown}) == 1
    last = shown[-1][1]["data"]["text/html"]
    assert "RMSD &lt;1&gt;" in last
    assert 'max="98" value="98"' in last
    assert "98/98 frames" in last


def test_progress_says_in_a_notebook_that_a_run_was_stopped():
    pytest.importorskip("ipykernel.inprocess")
    program = NOTEBOOK.replace("progress.update(98)", "raise KeyboardInterrupt")
    notebook = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    shown = [json.loads(line) for line in notebook.stdout.splitlines() if line.startswith("[")]
    last = [content for kind, content in shown if kind == "update_display_data"][-1]["data"]["text/html"]
    assert "stopped after 49 frames" in last
    assert 'max="98" value="49"' in last


def test_progress_counts_frames_when_nobody_knows_how_many_there_are():
    stream, clock = Terminal(), Clock()
    with Progress("RMSD", stream=stream, clock=clock) as progress:
        clock.seconds = 2
        progress.update(10_000)
    assert "10,000 frames · 5,000 frames/s" in stream.getvalue()
    assert "left" not in stream.getvalue()
