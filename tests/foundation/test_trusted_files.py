"""Files from which code or commands are run: those that another user can have written are refused."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import mdreel.foundation.trusted_files
from mdreel.errors import UnsupportedError
from mdreel.foundation.toml_file import read_toml
from mdreel.foundation.trusted_files import open_trusted
from mdreel.live.steering.rules_file import read_plan


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text('[[rule]]\nname = "a"\n')
    path.chmod(0o644)
    return path


def test_file_of_the_user_is_opened(path: Path) -> None:
    with open_trusted(path) as file:
        assert file.read() == path.read_bytes()
    with open_trusted(path, write=True) as file:
        file.write(b"#")
    assert path.read_bytes().startswith(b"#")


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666, 0o622, 0o777])
def test_file_that_others_may_write_is_refused_with_the_remedy(
    path: Path, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mdreel.foundation.trusted_files, "is_alone_in", lambda group, user: False)
    path.chmod(mode)
    with pytest.raises(UnsupportedError, match=r"rules\.toml: .*may write to the file.*chmod go-w"):
        open_trusted(path)


def test_file_of_the_private_group_of_the_user_is_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mdreel.foundation.trusted_files, "is_alone_in", lambda group, user: group == path.stat().st_gid)
    path.chmod(0o664)
    open_trusted(path).close()
    path.chmod(0o666)
    with pytest.raises(UnsupportedError, match="others may write"):
        open_trusted(path)


def test_file_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 12345)
    with pytest.raises(UnsupportedError, match=r"rules\.toml: the file belongs to"):
        open_trusted(path)
    if owner == 0:  # which may own what administrators provide, and no checkpoint
        open_trusted(path, root_may_own=True).close()


def test_link_to_write_to_and_what_is_no_file_are_refused(path: Path, tmp_path: Path) -> None:
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(path)
    os.mkfifo(pipe)
    with pytest.raises(UnsupportedError, match="symbolic link"):
        open_trusted(link, write=True)
    with pytest.raises(UnsupportedError, match="expected a regular file"):
        open_trusted(pipe)
    with pytest.raises(IsADirectoryError):
        open_trusted(tmp_path)


def commands_in(path: Path) -> object:
    return read_toml(path, has_commands=True)


@pytest.mark.parametrize(("read", "error"), [(read_plan, UnsupportedError), (commands_in, UnsupportedError)])
def test_commands_are_not_read_from_a_file_that_others_may_write(
    path: Path, read: Callable[[Path], object], error: type[Exception]
) -> None:
    path.chmod(0o666)
    with pytest.raises(error, match="others may write to the file"):
        read(path)
