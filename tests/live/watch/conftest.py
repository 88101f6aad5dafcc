"""Fixtures for folders of channels and for data of adenylate kinase."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a temporary folder for named channels."""
    place = tmp_path_factory.mktemp("channels")
    place.chmod(0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(place))
    return place


@pytest.fixture(scope="session")
def adk() -> dict[str, Path]:
    """Return topology and trajectory of adenylate kinase."""
    datafiles = pytest.importorskip("MDAnalysisTests.datafiles")
    return {"psf": Path(datafiles.PSF), "dcd": Path(datafiles.DCD)}
