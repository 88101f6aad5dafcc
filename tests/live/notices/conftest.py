"""A folder of channels for each test, and the directory of a channel in it."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which channels are found by name."""
    place = tmp_path_factory.mktemp("channels")
    place.chmod(0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(place))
    return place


@pytest.fixture
def channel(folder: Path) -> Path:
    """A directory, as that of a channel."""
    place = folder / "run1"
    place.mkdir(mode=0o700)
    return place
