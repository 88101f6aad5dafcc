"""Fixtures for channels, hosts, addresses and unmodified programs."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import plumed_engine
from managed_programs import Programs, compiled
from mdreel_lab.bench.rigs.hosts import Host, network_hosts, why_there_are_none


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a temporary folder for named channels."""
    place = tmp_path_factory.mktemp("channels")
    place.chmod(0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(place))
    return place


@pytest.fixture
def endpoints() -> tuple[str, str]:
    """Return two free addresses."""
    with ExitStack() as stack:
        free = [stack.enter_context(socket.socket()) for _ in range(2)]
        for each in free:
            each.bind(("127.0.0.1", 0))
        first, second = (f"tcp/127.0.0.1:{each.getsockname()[1]}" for each in free)
    return first, second


@pytest.fixture
def endpoint(endpoints: tuple[str, str]) -> str:
    """Return a free address."""
    return endpoints[0]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Host]]:
    """Create three hosts with their own networks and clocks."""
    why_not = why_there_are_none()
    if why_not is not None:
        pytest.skip(why_not)
    with network_hosts(["anna", "bert", "cara"], tmp_path_factory.mktemp("hosts")) as made:
        yield made


@pytest.fixture(scope="session")
def opening(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a C program that opens files in every way."""
    program = compiled(tmp_path_factory.mktemp("opening"))
    if program is None:
        pytest.skip("there is no compiler of C")
    return program


@pytest.fixture
def programs(opening: Path, tmp_path: Path) -> Programs:
    """Return a function that starts programs in a temporary managed directory."""
    frames = tmp_path / "frames"
    frames.mkdir(mode=0o700)
    return Programs(opening, frames)


@pytest.fixture(scope="session")
def plumed_plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compiled action of PLUMED."""
    missing = plumed_engine.missing_program()
    if missing is not None:
        pytest.skip(f"{missing} is not installed")
    return plumed_engine.compiled(tmp_path_factory.mktemp("plugin"))


@pytest.fixture
def plumed(plumed_plugin: Path, tmp_path: Path) -> plumed_engine.PlumedRuns:
    return plumed_engine.PlumedRuns(plumed_plugin, tmp_path)
