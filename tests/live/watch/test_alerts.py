"""Tests of alerts, against a loop over all values, and of the command that is run for them."""

import sys
from collections.abc import Callable
from pathlib import Path
from queue import Queue

import numpy as np
import pytest

from growing_file import N_ATOMS
from mdreel.errors import MismatchError
from mdreel.live.producers.producer import Producer
from mdreel.live.watch.alert_command import AlertCommand
from mdreel.live.watch.alerts import AlertEvent, Alerts, Threshold
from mdreel.live.watch.watcher import Watcher
from publishing import publish
from told_notices import Series, Told

EVENT = AlertEvent(1, 1.7e9, Path("/dev/shm/a b"), "$(touch x)", "rmsd", "Å", 7, 3.5, 6.25, "rmsd > 6; touch y")


def crossings(values: np.ndarray, is_met: Callable[[float], bool]) -> list[int]:
    """The frames at which a series crosses a threshold."""
    met = [False, *(is_met(value) for value in values)]
    return [i for i in range(len(values)) if met[i + 1] and not met[i]]


@pytest.mark.parametrize("text", ["value_0>0.5", "RMSD:value_0>0.5", "RMSD : value_0 > 0.5", "value_0<-0.5"])
def test_alert_is_raised_at_the_frame_of_each_crossing(folder: Path, text: str) -> None:
    raised: list[AlertEvent] = []
    threshold = Threshold.parse(text)
    alerts = Alerts([threshold], raised.append)
    watcher = Watcher()
    with Producer("run1", N_ATOMS, n_slots=8) as producer:
        publish(producer, 0)
        told = Told(folder / "run1", Series())
        for _ in range(20):
            told.say(n_frames=83)
            alerts.check(watcher.take_snapshots())
            alerts.check(watcher.take_snapshots())  # nothing new
    values = np.sin(0.01 * np.arange(20 * 83))
    limit = 0.5 if ">" in text else -0.5
    expected = crossings(values, lambda value: value > limit if ">" in text else value < limit)
    assert len(expected) > 2
    assert [event.frame for event in raised] == expected
    assert [event.value for event in raised] == pytest.approx(values[expected])
    assert {(event.analysis, event.column, event.unit, event.label) for event in raised} == {
        ("RMSD", "value_0", "Å", threshold.label)
    }
    assert [one["id"] for one in alerts.of_channel(folder / "run1")["events"]] == list(range(1, len(expected) + 1))
    assert alerts.of_channel(folder / "run2")["events"] == []


@pytest.mark.parametrize("text", ["value_1>0.5", "Rg:value_0>0.5", "time>1", "frame>1"])
def test_other_columns_raise_no_alert(folder: Path, text: str) -> None:
    raised: list[AlertEvent] = []
    alerts = Alerts([Threshold.parse(text)], raised.append)
    with Producer("run1", N_ATOMS, n_slots=8) as producer:
        publish(producer, 0)
        Told(folder / "run1", Series()).say(n_frames=500)
        alerts.check(Watcher().take_snapshots())
    assert raised == []


def test_alert_of_one_channel_ignores_others_and_notices_a_new_start(folder: Path) -> None:
    raised: list[AlertEvent] = []
    alerts = Alerts([Threshold(channel=str(folder / "run1"), column="value_0", above=0.5)], raised.append)
    watcher = Watcher()
    with Producer("run1", N_ATOMS, n_slots=8) as one, Producer("run2", N_ATOMS, n_slots=8) as other:
        for producer, name in ((one, "run1"), (other, "run2")):
            publish(producer, 0)
            Told(folder / name, Series()).say(n_frames=200)
        alerts.check(watcher.take_snapshots())
        assert [event.channel.name for event in raised] == ["run1"]
        (notice,) = (folder / "run1" / "analyses").glob("*.jsonl")
        notice.unlink()
        Told(folder / "run1", Series()).say(n_frames=100)
        alerts.check(watcher.take_snapshots())
    assert [event.frame for event in raised] == [53, 53]


@pytest.mark.parametrize("text", ["", "rmsd", "rmsd>", ">6", "rmsd>6>7", "rmsd=6", "a:b:c>1", "rmsd>1e999", "rmsd>x"])
def test_conditions_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(MismatchError):
        Threshold.parse(text)


def test_command_gets_the_alert_as_variables_and_never_as_words(tmp_path: Path) -> None:
    said: Queue[str] = Queue()
    seen = tmp_path / "seen"
    program = (
        "import os, sys; open(sys.argv[1], 'a').write(repr([sys.argv[2:], *(os.environ['MDREEL_' + name] for name in "
        "('ALERT', 'CHANNEL', 'ANALYSIS', 'COLUMN', 'VALUE', 'UNIT', 'FRAME', 'FRAME_TIME'))])); sys.exit(3)"
    )
    command = AlertCommand(f'{sys.executable} -c "{program}" {seen} "two words; $MDREEL_VALUE"', said.put)
    command.submit(EVENT)
    assert said.get(timeout=60) == "the command for the alert rmsd > 6; touch y ended with status 3"
    words = ["two words; $MDREEL_VALUE"]
    facts = ["rmsd > 6; touch y", "/dev/shm/a b", "$(touch x)", "rmsd", "6.25", "Å", "7", "3.5"]
    assert seen.read_text() == repr([words, *facts])
    assert {path.name for path in tmp_path.iterdir()} == {"seen"}


def test_command_that_cannot_be_run_is_reported() -> None:
    said: Queue[str] = Queue()
    AlertCommand("/no/such/program", said.put).submit(EVENT)
    assert "cannot be run: " in said.get(timeout=60)
