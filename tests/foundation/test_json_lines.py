"""Logs with one JSON object on each line: appending, locking and half a line at the end."""

import json
import math
from pathlib import Path

import pytest

from mdreel.errors import FormatError
from mdreel.foundation.json_lines import JsonLinesLog, complete_lines, encode_line, split_lines


def refuse(content: bytes) -> bytes:
    raise FormatError("not a log")


def test_any_text_survives_and_odd_numbers_are_refused() -> None:
    entry = {"message": "two\nlines of \u212b \udcff"}
    line = encode_line(entry)
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert json.loads(line) == entry
    assert encode_line({"a": [1, 2]}, compact=True) == b'{"a":[1,2]}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode_line({"a": math.nan})


def test_half_a_line_is_not_read() -> None:
    assert complete_lines(b'{"a":1}\n{"b') == b'{"a":1}\n'
    assert split_lines(b'{"a":1}\n{}\n{"b') == [b'{"a":1}', b"{}"]
    assert complete_lines(b'{"b') == b""
    assert split_lines(b'{"b') == []


def test_half_a_line_is_cut_off_when_a_log_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b')
    with JsonLinesLog(path, exclusive=True) as log:
        assert log.recover(split_lines) == [b'{"a": 1}']
        log.append({"c": 2})
    assert path.read_bytes() == b'{"a": 1}\n{"c": 2}\n'


def test_file_that_is_refused_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"something else\nhalf")
    with JsonLinesLog(path, exclusive=True) as log, pytest.raises(FormatError, match="not a log"):
        log.recover(refuse)
    assert path.read_bytes() == b"something else\nhalf"


def test_lock_is_exclusive_and_released(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with JsonLinesLog(path, exclusive=True), pytest.raises(BlockingIOError):
        JsonLinesLog(path, exclusive=True)
    JsonLinesLog(path, exclusive=True).close()
