"""Fixtures for folders of channels, for data of adenylate kinase, and for the page in a browser."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from browser import Browser, open_browser
from watched_page import MDREEL


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


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a browser."""
    with open_browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(opened: Browser) -> Browser:
    """Return the browser without an open page or messages of earlier tests."""
    opened.visit("about:blank")
    opened.log()
    return opened


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Return a function that starts mdreel commands, which are ended with the test."""
    with ExitStack() as stack:

        def start(*arguments: str | Path) -> "subprocess.Popen[str]":
            command = [*MDREEL, *map(str, arguments)]
            process = stack.enter_context(subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True))
            stack.callback(process.kill)
            return process

        yield start
