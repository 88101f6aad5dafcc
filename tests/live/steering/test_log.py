"""Tests of the audit log."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import time

import pytest

from mdreel.live.steering.log import AuditLog, EventFrame

NAMES = ["time", "rule", "event", "sequence", "step", "frame_time", "values", "action", "message"]


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_line_has_all_names_and_is_there_at_once(tmp_path: Path) -> None:
    before = time()
    with AuditLog(tmp_path / "log.jsonl") as log:
        log.write("started", "rules: a")
        (first,) = lines(log.path)
        assert list(first) == NAMES
        assert before <= first.pop("time") <= time()
        empty = {"rule": None, "sequence": None, "step": None, "frame_time": None, "values": {}, "action": None}
        assert first == {**empty, "event": "started", "message": "rules: a"}
        moment = EventFrame(7, 1400, 2.8, {"rmsd": 3.5})
        log.write("acted", "two\nlines of \u212b \udcff", rule="far", action="stop", frame=moment)
        second = lines(log.path)[1]
    del second["time"]
    assert second == {
        "rule": "far",
        "event": "acted",
        "sequence": 7,
        "step": 1400,
        "frame_time": 2.8,
        "values": {"rmsd": 3.5},
        "action": "stop",
        "message": "two\nlines of \u212b \udcff",
    }


def test_log_that_is_there_goes_on(tmp_path: Path) -> None:
    for number in range(3):
        with AuditLog(tmp_path / "log.jsonl") as log:
            log.write("started", str(number))
    assert [line["message"] for line in lines(tmp_path / "log.jsonl")] == ["0", "1", "2"]


def test_what_is_no_number_is_null(tmp_path: Path) -> None:
    with AuditLog(tmp_path / "log.jsonl") as log:
        log.write("fired", "", frame=EventFrame(0, None, math.nan, {"a": math.inf, "b": math.nan, "c": 1.0}))
    (line,) = lines(tmp_path / "log.jsonl")
    assert (line["frame_time"], line["values"]) == (None, {"a": None, "b": None, "c": 1.0})


def test_lines_of_several_threads_stay_whole(tmp_path: Path) -> None:
    with AuditLog(tmp_path / "log.jsonl") as log, ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: log.write("acted", f"{number} " * 50), range(200)))
    assert {line["message"].split()[0] for line in lines(tmp_path / "log.jsonl")} == {str(i) for i in range(200)}


def test_log_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        AuditLog(tmp_path / "none" / "log.jsonl")
    with AuditLog(Path("/dev/full")) as log, pytest.raises(OSError, match="No space left"):
        log.write("started", "")
