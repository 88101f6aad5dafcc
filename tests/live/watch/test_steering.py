"""Tests of the reader of the steering log."""

from pathlib import Path

import pytest

from mdreel.live.watch.steering import NAME, SteeringLog
from steering_lines import line


def test_last_lines_are_seen_as_they_come(tmp_path: Path) -> None:
    log = SteeringLog(tmp_path, most=3)
    log.refresh()
    assert log.events == ()
    path = tmp_path / NAME
    for number in range(5):
        with path.open("ab") as file:
            file.write(line(number))
        log.refresh()
        assert [event.sequence for event in log.events] == list(range(max(0, number - 2), number + 1))
    event = log.events[-1]
    assert (event.rule, event.event, event.step, event.frame_time) == ("unfolded", "fired", 40, 2.0)
    assert (event.values, event.action, event.message) == ({"rmsd": 3.5}, None, "number 4")
    path.unlink()
    log.refresh()
    assert log.events == ()


def test_half_a_line_at_the_end_is_waited_for(tmp_path: Path) -> None:
    log, path = SteeringLog(tmp_path), tmp_path / NAME
    last = line(1)
    for end in range(len(last) + 1):
        path.write_bytes(line(0) + last[:end])
        log.refresh()
        assert len(log.events) == (2 if end == len(last) else 1)
        assert log.n_damaged == 0


@pytest.mark.parametrize(
    "damaged",
    [
        b"\n",
        b"no json\n",
        b"[]\n",
        b"3\n",
        b"\xff\xfe\n",
        line(1, time=None),
        line(1, time="x"),
        line(1, time=float("nan")),
        line(1, time=1e30),
        line(1, time=-1),
        line(1, sequence="x"),
        line(1, values=[1]),
        line(1, values={"a": "b"}),
    ],
)
def test_damaged_lines_are_counted(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / NAME).write_bytes(line(0) + damaged + line(2))
    log = SteeringLog(tmp_path)
    log.refresh()
    assert [event.sequence for event in log.events] == [0, 2]
    assert log.n_damaged == 1


def test_nothing_in_a_line_does_anything_to_a_terminal(tmp_path: Path) -> None:
    nasty = "a\x1b]0;title\x07\nb\x9bc"
    (tmp_path / NAME).write_bytes(line(1, rule=nasty, event=nasty, message=nasty, action=nasty, values={nasty: 1}))
    log = SteeringLog(tmp_path)
    log.refresh()
    (event,) = log.events
    for text in (event.rule, event.event, event.message, event.action, *event.values):
        assert text == r"a\x1b]0;title\x07 b\x9bc"


def test_of_a_long_log_its_end_is_read(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"".join(map(line, range(5000))))
    log = SteeringLog(tmp_path, most=100)
    log.refresh()
    assert [event.sequence for event in log.events] == list(range(4900, 5000))


def test_what_may_be_left_out_is_left_out(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b'{"time": 3, "event": "started"}\n')
    log = SteeringLog(tmp_path)
    log.refresh()
    (event,) = log.events
    assert (event.rule, event.sequence, event.values, event.message) == (None, None, {}, "")
