"""Tests of metrics with a strict parser of the Prometheus format."""

import math
import re
from pathlib import Path

import pytest

from growing_file import N_ATOMS
from mdreel.live.channels.consumer import Consumer
from mdreel.live.notices.notice import Notice
from mdreel.live.notices.process import Process
from mdreel.live.producers.producer import Producer
from mdreel.live.watch.metrics import metrics
from mdreel.live.watch.snapshot import ANALYSIS_STATES, STATES, AnalysisSnapshot, ChannelSnapshot
from mdreel.live.watch.watcher import Watcher
from publishing import publish
from told_notices import Series, Told

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
_SAMPLE = re.compile(
    rf"({_NAME})\{{((?:{_LABEL})(?:,{_LABEL})*)\}} (?P<value>NaN|[+-]Inf|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
)


def parsed(text: str) -> tuple[Samples, dict[str, str]]:
    """Parse samples and types; see https://prometheus.io/docs/instrumenting/exposition_formats/."""
    assert not text or text.endswith("\n")
    samples: Samples = {}
    types: dict[str, str] = {}
    helps: set[str] = set()
    family = ""
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            _, _, family, meaning = line.split(" ", 3)
            assert re.fullmatch(_NAME, family)
            assert family not in helps, "families stand together"
            assert meaning
            assert "\\" not in meaning
            helps.add(family)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == family
            assert kind in ("counter", "gauge")
            assert (kind == "counter") == name.endswith("_total")
            types[name] = kind
        else:
            match = _SAMPLE.fullmatch(line)
            assert match is not None, line
            assert match[1] == family
            labels = re.findall(_LABEL, match[2])
            names = [name for name, _ in labels]
            assert len(set(names)) == len(names)
            unescaped = {
                name: re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), value)
                for name, value in labels
            }
            key = match[1], frozenset(unescaped.items())
            assert key not in samples, "each sample once"
            samples[key] = float(match["value"])
    assert helps == set(types)
    return samples, types


def of(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


def test_metrics_say_what_is_seen(folder: Path) -> None:
    watcher = Watcher()
    with Producer("run1", N_ATOMS, n_slots=8) as producer, Consumer("run1") as consumer:
        publish(producer, 0)
        assert consumer.next(20) is not None
        watcher.take_snapshots()
        publish(producer, 1)
        told = Told(folder / "run1", Series())
        told.say(n_frames=2)
        samples, types = parsed(metrics(watcher.take_snapshots()))
    assert of(samples, "mdreel_channel_frames_published_total", channel="run1") == 2
    assert of(samples, "mdreel_channel_frames_dropped_total", channel="run1") == 0
    assert of(samples, "mdreel_channel_frames_per_second", channel="run1") > 0
    assert of(samples, "mdreel_channel_bytes_per_second", channel="run1") > 0
    assert of(samples, "mdreel_channel_consumers", channel="run1") == 1
    assert of(samples, "mdreel_channel_lag_frames", channel="run1", consumer="0") == 1
    is_in = {state: of(samples, "mdreel_channel_state", channel="run1", state=state) for state in STATES}
    assert is_in == {state: float(state == "running") for state in STATES}
    who = {"channel": "run1", "analysis": "RMSD", "process": str(Process.current().number)}
    assert of(samples, "mdreel_analysis_frames_total", **who) == 2
    assert of(samples, "mdreel_analysis_seconds_total", **who, kind="wait") == 1.0
    assert of(samples, "mdreel_analysis_value", **who, column="value_0", unit="Å") == math.sin(0.01)
    assert sum(of(samples, "mdreel_analysis_state", **who, state=state) for state in ANALYSIS_STATES) == 1
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "watch.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(mdreel_\w+)", page)) == set(types)


def test_names_of_all_kinds_do_not_break_the_format() -> None:
    nasty = 'a"b\\c\nd{}=, \u00e5'
    notice = Notice(nasty, Process(1, 1), columns=(("frame", ""), ("time", "ps"), (nasty, nasty)), seconds={nasty: 1.0})
    twice = [AnalysisSnapshot(key, notice, nasty, "running", nasty) for key in ("a-1", "a-1-2")]
    seen = [
        ChannelSnapshot(
            Path(f"/{folder}/{nasty}"),
            "lost",
            nasty,
            analyses=(*twice, AnalysisSnapshot("x", None, "x", "unreadable", "")),
        )
        for folder in "ab"
    ]
    samples, _ = parsed(metrics(seen))
    assert of(samples, "mdreel_channel_state", channel=f"/a/{nasty}", state="lost") == 1
    assert of(samples, "mdreel_analysis_frames_total", channel=f"/b/{nasty}", analysis="a-1-2", process="1") == 0


def test_of_nothing_there_are_no_metrics() -> None:
    assert metrics([]) == ""


@pytest.mark.parametrize(
    "wrong", ["a 1\n", 'a{b="c"} 1', "# HELP a b\n# TYPE a gauge\n# HELP a b\n", '# HELP a b\na{b="\n"} 1\n']
)
def test_reader_of_the_tests_is_strict(wrong: str) -> None:
    with pytest.raises(AssertionError):
        parsed(wrong)
