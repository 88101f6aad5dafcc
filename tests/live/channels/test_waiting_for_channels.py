"""Tests of the errors of those who wait for a channel, a server or an engine in vain."""

from collections.abc import Callable
from pathlib import Path

import pytest

import mdreel
from mdreel.errors import StreamTimeoutError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.engines.imd import Engine, Hub
from mdreel.live.nodes import Relay, Server

ANYWHERE = "127.0.0.1:0"

OF_CHANNELS: dict[str, Callable[[float], object]] = {
    "consumer": lambda wait: Consumer("run", wait=wait).open(),
    "analysis": lambda wait: mdreel.live.channel("run", wait=wait).source(),
    "archive": lambda wait: mdreel.live.archive("run", "run.xtc", wait=wait),
    "hub": lambda wait: Hub("run", ANYWHERE, wait=wait).open(),
    "managed directory": lambda wait: mdreel.live.ManagedDirectory("run", wait=wait),
}


@pytest.mark.parametrize("join", OF_CHANNELS.values(), ids=OF_CHANNELS)
def test_error_says_what_was_waited_for_and_how_long(
    join: Callable[[float], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"was not created within 0\.01 s; .*wait longer \(wait=, --wait\).*run"
    ):
        join(0.01)
    with pytest.raises(FileNotFoundError, match=r"does not exist; start the simulation first, or wait for it .*run"):
        join(0.0)


def test_file_that_is_missing_in_a_channel_is_named(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(0o700)
    with pytest.raises(FileNotFoundError, match="No such file"):
        Consumer(tmp_path / "run").open()


def test_error_of_a_relay_says_how_long_it_has_waited(endpoint: str) -> None:
    pytest.importorskip("zenoh")
    with pytest.raises(StreamTimeoutError, match=r"no server answers within 0\.1 s.*wait longer \(wait=, --wait\)"):
        Relay(endpoint, "run", wait=0.1).run()
    with Server("run", endpoint):
        with pytest.raises(FileNotFoundError, match=r"no such channel on that node within 0\.1 s.*wait longer"):
            Relay(endpoint, "run", "there", wait=0.1).run()
        with pytest.raises(StreamTimeoutError, match=r"no server answers for this channel within 0\.1 s.*wait longer"):
            Relay(endpoint, "other", "there", wait=0.1).run()


def test_error_of_a_hub_says_how_long_it_has_waited_for_the_engine(endpoint: str) -> None:
    address = endpoint.removeprefix("tcp/")
    with pytest.raises(StreamTimeoutError, match=r"no answer from the engine within 0\.1 s: .*wait longer"):
        Hub("run", ANYWHERE, Engine(address, wait=0.1)).open()
