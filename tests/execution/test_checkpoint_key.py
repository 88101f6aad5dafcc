"""The key of a user, with which checkpoints are authenticated."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mdreel.errors import UnsupportedError
from mdreel.execution.checkpoint.key import KEY_VARIABLE, key_path, user_key


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the key of each test apart."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


def test_key_is_one_when_many_make_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(16) as threads:
        keys = {*threads.map(lambda _: user_key(), range(64))}
    assert len(keys) == 1
    assert [path.name for path in key_path().parent.iterdir()] == ["checkpoint.key"]
    assert user_key() in keys


def test_key_that_others_may_read_is_refused() -> None:
    user_key()
    key_path().chmod(0o640)
    with pytest.raises(UnsupportedError, match="other users may read the secret key"):
        user_key()


@pytest.mark.parametrize("content", [b"", b"short", bytes(33)])
def test_file_that_is_no_key_is_refused(content: bytes) -> None:
    user_key()
    key_path().write_bytes(content)
    with pytest.raises(UnsupportedError, match="expected a key of 32 bytes"):
        user_key()


def test_key_without_a_place_is_an_error_that_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(UnsupportedError, match=f"set {KEY_VARIABLE} to a file that all nodes of the run can read"):
        user_key()
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / "own.key"))
    assert user_key() == (tmp_path / "own.key").read_bytes()
