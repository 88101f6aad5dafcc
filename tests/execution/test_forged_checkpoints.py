"""Checkpoints that somebody else can have written: nothing of them is unpickled."""

import os
import pickle
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest

import mdreel
from mdreel.analysis.user.user_functions import Fold
from mdreel.errors import FormatError, UnsupportedError


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the key of each test apart."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("MDREEL_KEY_FILE", raising=False)
    monkeypatch.setattr(
        "mdreel.execution.executors.local.block_groups.GROUP_SECONDS", 0.0
    )  # each block has a record of its own
    return tmp_path / "state"


@pytest.fixture
def universe(adk_xtc: Path) -> mda.Universe:
    from MDAnalysisTests.datafiles import PSF

    return mda.Universe(PSF, adk_xtc)


class Evil:
    """What runs code when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


def extent(positions: np.ndarray) -> float:
    return float(np.ptp(positions))


def run(universe: mda.Universe, trajectory: Path, path: Path, n_parts: int = 9) -> Any:
    atoms = universe.select_atoms("name CA")
    own = mdreel.from_function(extent, atoms, reduce=mdreel.analysis.Reducer(max), trajectory=trajectory)
    own.run(backend="serial", n_parts=n_parts, checkpoint=path)
    return own.results.value


def records_of(content: bytes) -> list[bytes]:
    """Return the records of a checkpoint, each with its head."""
    found, at = [], 8
    while at < len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        end = at + 12 + length + 32
        found.append(content[at:end])
        at = end
    assert at == len(content)
    return found


def written(records: list[bytes]) -> bytes:
    return b"mdreelC2" + b"".join(records)


def with_content(record: bytes, content: bytes) -> bytes:
    """Replace the content of a record as somebody without the key can: the checksum is right, the code is not."""
    body = content + record[-32:]
    return struct.pack("<QI", len(content), zlib.crc32(body)) + body


def test_value_that_runs_code_is_not_unpickled(
    universe: mda.Universe, adk_xtc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, mark = tmp_path / "kept", tmp_path / "mark"
    value = run(universe, adk_xtc, path)
    # What an attacker writes who has the same mdreel: parts of the same blocks, with values of his.
    monkeypatch.setattr(Fold, "pack", lambda self, value: pickle.dumps(Evil(mark)))
    evil = tmp_path / "evil"
    other_key = tmp_path / "other.key"
    monkeypatch.setenv("MDREEL_KEY_FILE", str(other_key))
    own = mdreel.from_function(
        extent, universe.select_atoms("name CA"), reduce=mdreel.analysis.Reducer(max), trajectory=adk_xtc
    )
    own.run(backend="serial", n_parts=9, checkpoint=evil)
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("mdreel.execution.executors.local.block_groups.GROUP_SECONDS", 0.0)
    path.write_bytes(evil.read_bytes())
    with pytest.raises(FormatError, match="another key: remove it, or set MDREEL_KEY_FILE to the file of its key"):
        run(universe, adk_xtc, path)
    assert not mark.exists()
    path.unlink()
    assert run(universe, adk_xtc, path) == value


def test_checkpoint_is_made_for_its_owner_alone(
    universe: mda.Universe, adk_xtc: Path, tmp_path: Path, state: Path
) -> None:
    before = os.umask(0)
    try:
        run(universe, adk_xtc, tmp_path / "kept")
    finally:
        os.umask(before)
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o600
    key = state / "mdreel" / "checkpoint.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32


def changed(records: list[bytes]) -> list[bytes]:
    content = bytearray(records[2][12:-32])
    content[-1] ^= 1
    return [*records[:2], with_content(records[2], bytes(content)), *records[3:]]


def reworded(head: bytes) -> bytes:
    return head.replace(b'"identity"', b'"identity" ')


TAMPERED: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "changed": changed,
    "two in another order": lambda records: [*records[:2], records[3], records[2], *records[4:]],
    "one left out": lambda records: [*records[:2], *records[3:]],
    "one repeated": lambda records: [*records[:3], *records[2:]],
    "other blocks": lambda records: [records[0], with_content(records[1], records[1][12:-32]), records[2]],
    "another head": lambda records: [with_content(records[0], reworded(records[0][12:-32])), *records[1:]],
}  # fmt: skip


@pytest.mark.parametrize("how", sorted(TAMPERED))
def test_tampered_record_is_refused_and_named(
    universe: mda.Universe, adk_xtc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    path = tmp_path / "kept"
    run(universe, adk_xtc, path)
    records = records_of(path.read_bytes())
    assert len(records) > 4
    tampered = TAMPERED[how](records)
    if how == "other blocks":  # whose code is that of another record
        body = records[1][12:-32] + records[2][-32:]
        tampered[1] = struct.pack("<QI", len(records[1]) - 44, zlib.crc32(body)) + body
    path.write_bytes(written(tampered))
    loaded: list[bytes] = []
    monkeypatch.setattr(Fold, "unpack", lambda self, content: loaded.append(content))
    with pytest.raises(FormatError, match=r"kept: byte \d+: record \d+ is not authenticated with your key for this"):
        run(universe, adk_xtc, path)
    assert len(loaded) <= (how == "one repeated")  # whose first is genuine


def test_record_of_another_checkpoint_is_refused(universe: mda.Universe, adk_xtc: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        run(universe, adk_xtc, tmp_path / name)
    one, other = (records_of((tmp_path / name).read_bytes()) for name in ("one", "other"))
    (tmp_path / "one").write_bytes(written([*one[:2], other[2], *one[3:]]))
    with pytest.raises(FormatError, match="record 2 is not authenticated with your key"):
        run(universe, adk_xtc, tmp_path / "one")


def test_torn_record_is_cut_off_and_not_called_forged(universe: mda.Universe, adk_xtc: Path, tmp_path: Path) -> None:
    path = tmp_path / "kept"
    value = run(universe, adk_xtc, path)
    whole = path.read_bytes()
    last = records_of(whole)[-1]
    for n_lost in (1, 31, 32, 33, len(last) - 1, len(last) - 12, len(last)):
        path.write_bytes(whole[:-n_lost])
        assert run(universe, adk_xtc, path) == value
    path.write_bytes(whole[: -len(last) // 2] + bytes(len(last) // 2))  # its pages have come in another order
    assert run(universe, adk_xtc, path) == value


@pytest.mark.parametrize("beside", ["", ".rank1"])
def test_checkpoint_that_others_may_write_is_refused(
    universe: mda.Universe, adk_xtc: Path, tmp_path: Path, beside: str
) -> None:
    path = tmp_path / "kept"
    run(universe, adk_xtc, path)
    file = path.with_name(path.name + beside)
    file.write_bytes(path.read_bytes())
    file.chmod(0o606)
    with pytest.raises(UnsupportedError, match=rf"kept{beside}: others may write to the file"):
        run(universe, adk_xtc, path)


def test_checkpoint_of_another_user_is_refused(universe: mda.Universe, adk_xtc: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    path = tmp_path / "kept"
    run(universe, adk_xtc, path)
    os.chown(path, 12345, -1)
    with pytest.raises(UnsupportedError, match="belongs to the user with the number 12345"):
        run(universe, adk_xtc, path)


def test_checkpoint_of_an_earlier_mdreel_is_refused(universe: mda.Universe, adk_xtc: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"mdreelC1" + bytes(100))
    with pytest.raises(FormatError, match="an earlier version of mdreel wrote this checkpoint"):
        run(universe, adk_xtc, tmp_path / "kept")
