"""What tests of executors share: a Dask cluster, several hosts, and a folder that can be hidden from one of them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdreel import Dask
from mdreel_lab.bench.rigs.hosts import Host, network_hosts, why_there_are_none


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Host]]:
    """Three hosts: the test works on the first, workers on the others."""
    why_not = why_there_are_none()
    if why_not is not None:
        pytest.skip(why_not)
    with network_hosts(["anna", "bert", "cara"], tmp_path_factory.mktemp("hosts")) as made:
        yield made


@pytest.fixture
def adk(tmp_path: Path, adk_xtc: Path, adk_dcd: Path) -> dict[str, Path]:
    """The AdK trajectory in its formats, in a folder of their own."""
    folder = tmp_path / "data"
    folder.mkdir()
    return {path.suffix[1:]: Path(shutil.copy(path, folder / f"adk{path.suffix}")) for path in (adk_xtc, adk_dcd)}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Dask]:
    """A Dask cluster that the tests of a file share."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as made,
        Client(made, set_as_default=False) as client,
    ):
        yield Dask(client=client)
