"""Fixtures for folders of channels."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a temporary folder for named channels."""
    place = tmp_path_factory.mktemp("channels")
    place.chmod(0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(place))
    return place


@pytest.fixture
def channel(folder: Path) -> Path:
    """Return a directory like that of a channel."""
    place = folder / "run1"
    place.mkdir(mode=0o700)
    return place
