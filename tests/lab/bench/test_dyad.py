"""The adapter of DYAD: with a recorded session of its calls, and with DYAD itself where it is installed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mdreel.errors import UnsupportedError
from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.regions import CONSUME, IDLE, KINDS, MOVEMENT, Regions
from mdreel_lab.bench.exchange.solutions import dyad
from mdreel_lab.bench.exchange.work import Work
from mdreel_lab.bench.plans import plan_of
from mdreel_lab.bench.records import DONE
from mdreel_lab.bench.rigs.dyad import MODULE, why_there_is_none
from mdreel_lab.bench.rigs.hosts import why_there_are_none

N_FRAMES = 4
RECORDED = Path(__file__).with_name("recorded_dyad")
Bench = Callable[..., Any]


@pytest.fixture
def regions_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Regions]:
    """Return a function that exchanges frames in a recorded session, and returns the consumer's regions."""

    def exchange(session: str) -> Regions:
        managed = {"DYAD_PATH_PRODUCER": "here", "DYAD_PATH_CONSUMER": "there" if session == "two nodes" else "here"}
        settings = {name: str(tmp_path / folder) for name, folder in managed.items()}
        settings |= {"DYAD_KVS_NAMESPACE": "mdreel", "DYAD_DTL_MODE": "FLUX_RPC", "RECORDED_SESSION": session}
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        monkeypatch.syspath_prepend(str(RECORDED))
        place = str(tmp_path / "run" / "0")
        work = Work("dyad", "own", "jac", N_FRAMES, 0.0, 0.0, place, "", "", "127.0.0.1", 0, session == "two nodes")
        assert dyad.Sender.missing(work) == ""

        def send() -> None:
            frame = SerialisedFrame(work.molecule, seed=1)
            with dyad.Sender(work, Regions()) as sender:
                for number in range(N_FRAMES):
                    frame.mark(number)
                    sender.put(number, frame)
                received.result()

        def receive() -> Regions:
            regions, frame = Regions(), SerialisedFrame(work.molecule)
            with dyad.Receiver(work, regions) as receiver:
                for number in range(N_FRAMES):
                    with regions(CONSUME):
                        receiver.get(number, frame)
                    frame.check(number)
                    receiver.done()
            return regions

        with ThreadPoolExecutor(2) as pool:
            received = pool.submit(receive)
            pool.submit(send).result()
        return received.result()

    return exchange


def test_transfer_between_nodes_has_the_regions_of_the_paper(regions_of: Callable[[str], Regions]) -> None:
    times = {path[-1]: of for path, of in regions_of("two nodes").times.items()}
    assert set(times) == {CONSUME, "fetch", "get_data", "cons_store", "read_single_buf"}
    assert all(len(of) == N_FRAMES for of in times.values())
    # The recorded times from the request to the end of the connection, and from there to the stored file.
    assert all(got >= least for got, least in zip(times["get_data"], [0.0094, 0.003, 0.0031, 0.0043], strict=True))
    assert all(got >= least for got, least in zip(times["cons_store"], [0.0003, 0.0002, 0.0002, 0.0003], strict=True))
    assert KINDS["fetch"] == IDLE
    assert KINDS["get_data"] == KINDS["cons_store"] == MOVEMENT


def test_nothing_is_transferred_on_one_node(regions_of: Callable[[str], Regions]) -> None:
    times = {path[-1]: of for path, of in regions_of("one node").times.items()}
    assert times["get_data"] == times["cons_store"] == [0.0] * N_FRAMES
    assert all(one > 0 for one in times["fetch"])


def test_unknown_transport_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="DYAD_DTL_MODE"):
        dyad.TransportSteps(None)


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (MODULE, "DYAD_PATH_PRODUCER", "DYAD_PATH_CONSUMER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("mdreel_lab.bench.rigs.dyad.find_spec", lambda _: None)
    assert why_there_is_none() == "DYAD is not installed: there is no Python package pydyad"
    monkeypatch.setattr("mdreel_lab.bench.rigs.dyad.find_spec", lambda name: name)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert why_there_is_none() == "DYAD needs Flux, and the program flux was not found"
    (tmp_path / "flux").touch(0o755)
    assert "DYAD_MODULE names the file dyad.so" in str(why_there_is_none())
    monkeypatch.setenv(MODULE, __file__)
    assert why_there_is_none() is None


@pytest.mark.skipif(why_there_is_none() is not None, reason=str(why_there_is_none()))
@pytest.mark.parametrize("placement", ["one-node", "nodes"])
def test_dyad_carries_every_frame(placement: str, tmp_path: Path, bench: Bench) -> None:
    if placement == "nodes" and (problem := why_there_are_none()):
        pytest.skip(problem)
    path = tmp_path / "mine.toml"
    path.write_text(
        f'kind = "exchange"\ntitle = "DYAD"\nplacement = "{placement}"\n'
        '[small]\nframes = 4\nspeed = 50\n[[way]]\nsolution = "dyad"\n'
    )
    done = bench(tmp_path, "run", path, "-o", "out")
    assert done.returncode == 0, done.stderr
    (kept,) = plan_of(tmp_path / "out", "mine")[2]
    assert (kept.status, kept.message) == (DONE, "")
    assert set(kept.environment["versions"]) >= {"flux-core", "pydyad"}
    regions = kept.facts["pairs"][0][CONSUME]["regions"]
    assert all((one > 0) == (placement == "nodes") for one in regions["consume/get_data"])
