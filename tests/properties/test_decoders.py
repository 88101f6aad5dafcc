"""Each decoder of what another process has sent or written returns a value, or raises the error that it documents."""

import ast
import json
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from architecture.checkout import PACKAGE
from decoders import DECODERS, ODD_JSON, Decoder
from mdreel.errors import FormatError
from mdreel.foundation.untrusted_input import MOST_DEPTH, object_of

READS = {"loads", "load", "object_of", "unpack", "unpack_from", "from_bytes", "frombuffer", "fromhex", "literal_eval"}
"""Calls that make values of bytes."""
NOT_OF_OTHERS = {
    "live/incremental_run.py:IncrementalRun._take": "a copy of the results of this process",
    "live/archives/h5md.py:H5mdFrames._records": "our own file, of which no other process has the name yet",
    "live/ensemble/ensemble.py:Ensemble._begin": "also makes the identity of its own, from its own bytes",
    "live/ensemble/result_tables.py:ResultTables._read": "a table of a run of this user, read without pickle",
    "live/archives/archiver_process.py:ArchiverProcess._start_and_wait": "the error of a process of our own",
    "live/producers/producer.py:Producer.__init__": "a hash",
    "live/watch/analysis_process.py:AnalysisProcess._listen": "the analysis that this process has started",
    "live/watch/molecule.py:Molecule._read": "the outline of a topology of this user, from a process of our own",
    "live/channels/sections.py:Encoder.positions": "bytes that this process has made",
    "live/channels/sections.py:section_arrays": "a section whose length and checksum the core has compared",
}
"""Functions with such calls that decode nothing of another process, with the reason."""


def functions_that_decode() -> set[str]:
    """Each function of `mdreel.live` that makes values of bytes, as file and qualified name."""
    found: set[str] = set()

    def walk(node: ast.AST, where: str, names: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            inner = names
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = (*names, child.name)
            if isinstance(child, ast.Call):
                called = child.func
                name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                if name in READS:
                    found.add(f"{where}:{'.'.join(inner) or '<module>'}")
            walk(child, where, inner)

    for path in sorted((PACKAGE / "live").rglob("*.py")):
        walk(ast.parse(path.read_text(encoding="utf-8")), str(path.relative_to(PACKAGE)), ())
    return found


def test_each_decoder_of_messages_is_fuzzed() -> None:
    found = functions_that_decode()
    assert len(found) > 20, "the search found the decoders"
    fuzzed = {place for decoder in DECODERS.values() for place in decoder.covers}
    unknown = found - fuzzed - set(NOT_OF_OTHERS)
    assert not unknown, "fuzz it in tests/decoders.py, or say why it reads nothing of others:\n" + "\n".join(unknown)
    gone = (fuzzed | set(NOT_OF_OTHERS)) - found
    assert not gone, "there is no such decoder any more:\n" + "\n".join(gone)


def reads_or_refuses(decoder: Decoder, content: bytes, folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with suppress(*decoder.refuses):
            decoder.read(content, folder)


def odd_values() -> st.SearchStrategy[Any]:
    plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    inner = st.recursive(
        plain, lambda more: st.lists(more, max_size=3) | st.dictionaries(st.text(max_size=5), more, max_size=3)
    )
    return inner | st.sampled_from([2**63, 2**64, -1, -(2**64), "x" * 100_000, "\ud800", "\0", [[]], {}, True])


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Each container in a JSON value, with each of its keys."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            found += [(value, key), *places_in(value[key])]
    return found


@st.composite
def damaged_json(draw: st.DrawFn, valid: bytes) -> bytes:
    """Valid lines of JSON, in which one value is another one, or has gone."""
    lines = [json.loads(line) for line in valid.splitlines()]
    places = places_in(lines)
    container, key = draw(st.sampled_from(places))
    raw = None
    match draw(st.sampled_from(["value", "raw", "gone"])):
        case "gone":
            del container[key]
        case "raw":
            raw = draw(st.sampled_from(ODD_JSON))
            container[key] = "@raw@"
        case _:
            container[key] = draw(odd_values())
    text = b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"
    return text if raw is None else text.replace(b'"@raw@"', raw)


@st.composite
def damaged_bytes(draw: st.DrawFn, valid: bytes) -> bytes:
    content = bytearray(valid)
    for _ in range(draw(st.integers(0, 4))):
        if content:
            content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    begin = draw(st.integers(0, len(content)))
    return bytes(content[: draw(st.integers(begin, len(content)))]) if draw(st.booleans()) else bytes(content)


def damaged(decoder: Decoder) -> st.SearchStrategy[bytes]:
    strategies = [damaged_bytes(valid) for valid in decoder.valid]
    if decoder.is_json:
        strategies += [damaged_json(valid) for valid in decoder.valid]
        strategies += [odd_values().map(lambda value: json.dumps(value).encode() + b"\n"), st.sampled_from(ODD_JSON)]
    return st.one_of(st.binary(max_size=300), *strategies)


@pytest.mark.parametrize("name", DECODERS)
@settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_decoder_reads_or_refuses_whatever_comes(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    reads_or_refuses(DECODERS[name], data.draw(damaged(DECODERS[name])), _folder(tmp_path_factory))


@pytest.mark.parametrize("name", DECODERS)
def test_decoder_refuses_odd_json_wherever_it_stands(name: str, tmp_path: Path) -> None:
    decoder = DECODERS[name]
    for content in (*ODD_JSON, b"", b"\xff" * 100, bytes(200)):
        reads_or_refuses(decoder, content, tmp_path)
    if not decoder.is_json:
        return
    for valid in decoder.valid:
        lines = [json.loads(line) for line in valid.splitlines()]
        for container, key in places_in(lines):
            was = container[key]
            for raw in ODD_JSON:
                container[key] = "@raw@"
                text = b"".join(json.dumps(line).encode() + b"\n" for line in lines).replace(b'"@raw@"', raw)
                reads_or_refuses(decoder, text, tmp_path)
            container[key] = was


@pytest.mark.parametrize("name", DECODERS)
def test_decoder_reads_what_is_valid(name: str, tmp_path: Path) -> None:
    for valid in DECODERS[name].valid:
        DECODERS[name].read(valid, tmp_path)


_FOLDERS: list[Path] = []


def _folder(factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples."""
    if not _FOLDERS:
        _FOLDERS.append(factory.mktemp("fuzzed"))
    return _FOLDERS[0]


@given(st.binary(max_size=300) | odd_values().map(lambda value: json.dumps(value).encode()))
@example(b"[" * 50_000)
@example(b'{"a":' * (MOST_DEPTH + 1) + b"1" + b"}" * (MOST_DEPTH + 1))
def test_objects_of_others_are_finite_shallow_and_of_64_bits(content: bytes) -> None:
    try:
        found = object_of(content)
    except FormatError:
        return
    assert isinstance(found, dict)
    json.dumps(found, allow_nan=False)
    for container, key in places_in(found):
        value = container[key]
        assert not isinstance(value, int) or -(2**63) <= value < 2**64


@pytest.mark.parametrize("raw", [raw for raw in ODD_JSON if raw not in (b"0", b"-1")])
def test_numbers_that_no_json_has_are_refused(raw: bytes) -> None:
    check: Callable[[bytes], object] = object_of
    with pytest.raises(FormatError):
        check(b'{"a": ' + raw + b"}")
