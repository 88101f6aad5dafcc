"""Channels of each test are in a folder of its own; programs that know nothing of mdreel."""

from pathlib import Path

import pytest

from managed_programs import Programs, compiled


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which channels are found by name."""
    place = tmp_path_factory.mktemp("channels")
    place.chmod(0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(place))
    return place


@pytest.fixture(scope="session")
def opening(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program in C that opens files in every way."""
    program = compiled(tmp_path_factory.mktemp("opening"))
    if program is None:
        pytest.skip("there is no compiler of C")
    return program


@pytest.fixture
def programs(opening: Path, tmp_path: Path) -> Programs:
    """How programs are started in a managed directory of the test's own."""
    frames = tmp_path / "frames"
    frames.mkdir(mode=0o700)
    return Programs(opening, frames)
