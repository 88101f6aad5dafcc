"""A folder of channels for each test; the data of adenylate kinase."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which channels are found by name."""
    place = tmp_path_factory.mktemp("channels")
    place.chmod(0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(place))
    return place


@pytest.fixture(scope="session")
def adk() -> dict[str, Path]:
    """Topology and trajectory of adenylate kinase."""
    datafiles = pytest.importorskip("MDAnalysisTests.datafiles")
    return {"psf": Path(datafiles.PSF), "dcd": Path(datafiles.DCD)}
