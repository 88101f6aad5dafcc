"""Tests of steering frame by frame."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mdreel
from live.steering.conftest import events, lines_of
from mdreel.errors import MismatchError
from mdreel.live.steering import (
    Action,
    AuditLog,
    ObservedAnalysis,
    Plan,
    RequestControl,
    Rule,
    SignalControl,
    SteeringStatistics,
    steer,
)

Publish = Callable[[Sequence[float]], Path]
FACTS = "import json, os; print(json.dumps({k: v for k, v in os.environ.items() if k.startswith('MDREEL_')}))"


def distance(positions: np.ndarray) -> float:
    return float(np.linalg.norm(positions[1] - positions[0]))


def observed(atoms: Any, path: Path) -> ObservedAnalysis:
    analysis = mdreel.from_function(distance, atoms, trajectory=mdreel.live.channel(path))
    return ObservedAnalysis("distance", analysis, lambda done: {"d": done.results.timeseries})


def steered(atoms: Any, path: Path, plan: Plan, **settings: Any) -> SteeringStatistics:
    one = observed(atoms, path)
    with AuditLog(path / "steering.jsonl") as log:
        settings = {"engine": RequestControl(path), **settings}
        for so_far in steer(mdreel.live.stream_results([one.analysis], every=0), [one], plan, log=log, **settings):
            last = so_far
    return last


def rule(**settings: Any) -> Rule:
    return Rule(**{"name": "far", "analysis": "distance", "above": 3.0, "actions": ("say",), **settings})


def command(*words: str, **settings: Any) -> Action:
    return Action(**{"type": "run-command", "name": "say", "command": words, **settings})


def test_command_is_told_the_facts(atoms: Any, channel: Publish, tmp_path: Path) -> None:
    path = channel([1, 2, 3.5, 1])
    plan = Plan(rule=(rule(),), action=(command(sys.executable, "-c", FACTS, output="out"),))
    found = steered(atoms, path, plan, folder=tmp_path, input="here", step_of=lambda frame, time: round(time / 0.5))
    assert found == SteeringStatistics(4, 1, 1, 0)
    facts = json.loads((tmp_path / "out").read_text())
    assert 1 <= int(facts.pop("MDREEL_SEED")) < 2**31
    assert {name: value for name, value in facts.items() if name not in ("MDREEL_CHANNELS", "MDREEL_SLOW_TESTS")} == {
        "MDREEL_RULE": "far",
        "MDREEL_ACTION": "say",
        "MDREEL_SEQUENCE": "2",
        "MDREEL_STEP": "20",
        "MDREEL_FRAME_TIME": "10.0",
        "MDREEL_VALUES": '{"d": 3.5}',
        "MDREEL_INPUT": "here",
    }
    log = lines_of(path / "steering.jsonl")
    assert [line["event"] for line in log] == ["started", "fired", "acted", "ended"]
    for line in log[1:3]:
        assert (line["sequence"], line["step"], line["frame_time"], line["values"]) == (2, 20, 10.0, {"d": 3.5})
    assert log[1]["message"] == "3.5 above 3"


def test_command_is_given_facts_as_words_where_that_is_wanted(atoms: Any, channel: Publish, tmp_path: Path) -> None:
    words = (sys.executable, "-c", "import sys; print(*sys.argv[1:])", "{step}", "at {frame_time}", "{{rule}}")
    plain = command(*words, name="plain", output="plain")
    filled = command(*words, name="filled", output="filled", placeholders=True)
    plan = Plan(rule=(rule(actions=("plain", "filled")),), action=(plain, filled))
    steered(atoms, channel([4]), plan, folder=tmp_path, step_of=lambda frame, time: 7)
    assert (tmp_path / "plain").read_text() == "{step} at {frame_time} {{rule}}\n"
    assert (tmp_path / "filled").read_text() == "7 at 0.0 {rule}\n"


def test_what_follows_a_failed_action_is_not_done(atoms: Any, channel: Publish, tmp_path: Path) -> None:
    fails = command(sys.executable, "-c", "raise SystemExit(7)", name="fails", output="out")
    never = command(sys.executable, "-c", "open('never', 'w')", name="never")
    plan = Plan(rule=(rule(actions=("fails", "never", "stop")),), action=(fails, never))
    path = channel([4, 5])
    assert steered(atoms, path, plan, folder=tmp_path) == SteeringStatistics(2, 1, 0, 3)
    failed = [line for line in lines_of(path / "steering.jsonl") if line["event"] == "failed"]
    assert [line["action"] for line in failed] == ["fails", "never", "stop"]
    assert failed[0]["message"].endswith("ended with exit status 7")
    assert failed[1]["message"] == "skipped because 'fails' failed"
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (command("/no/such/program"), "No such file or directory: '/no/such/program'"),
        (command("sleep", "600", timeout=0.1), "was ended: it took more than 0.1 s"),
        (command("echo", "{checkpoint}", placeholders=True), "the command needs checkpoint, which is unknown"),
        (command("sh", "-c", "kill -9 $$"), "ended with signal 9"),
        (Action(type="fork", name="say", command=("true",)), "the simulation ended (finished)"),
        (Action(type="change-stride", name="say", stride=7), "the simulation ended (finished)"),
    ],
)
def test_action_that_fails_says_why_and_steering_goes_on(
    atoms: Any, channel: Publish, action: Action, expected: str
) -> None:
    path = channel([4, 1, 1])
    assert steered(atoms, path, Plan(rule=(rule(),), action=(action,))) == SteeringStatistics(3, 1, 0, 1)
    (line,) = [line for line in lines_of(path / "steering.jsonl") if line["event"] == "failed"]
    assert expected in line["message"]


def test_each_frame_is_looked_at_once_and_in_order(atoms: Any, channel: Publish) -> None:
    path = channel([4, 1, 4, 4, 1, 4, 4, 4])
    every = rule(name="every", at_most=0, actions=("true",))
    rests = rule(name="rests", at_most=2, cool_down_frames=2, actions=("true",))
    plan = Plan(rule=(every, rests), action=(command("true", name="true"),))
    assert steered(atoms, path, plan) == SteeringStatistics(8, 8, 8, 0)
    found = [(event, name, frame) for event, name, _, frame in events(path / "steering.jsonl")]
    assert [frame for event, name, frame in found if (event, name) == ("fired", "every")] == [0, 2, 3, 5, 6, 7]
    assert [frame for event, name, frame in found if (event, name) == ("fired", "rests")] == [0, 3]
    assert [frame for event, name, frame in found if (event, name) == ("cooling-down", "rests")] == [2]


@pytest.mark.parametrize("n_at_a_time", [1, 2, 3, 5])
def test_how_many_frames_come_at_a_time_does_not_matter(atoms: Any, tmp_path: Path, n_at_a_time: int) -> None:
    distances = [4, 1, 4, 4, 1, 4, 4, 4, 1, 1, 4, 4]
    most = rule(name="most", frames=3, share=0.6, at_most=0, cool_down_frames=1, actions=("true",))
    plan = Plan(rule=(most,), action=(command("true", name="true"),))
    producer = mdreel.live.Producer(tmp_path / "run1", 2, n_slots=16).open()
    one = observed(atoms, producer.path)

    def turns() -> Any:
        live = None
        for frame, distance in enumerate(distances):
            producer.publish(np.array([[0, 0, 0], [distance, 0, 0]], np.float32), frame, float(frame))
            if (frame + 1) % n_at_a_time == 0:
                live = live or mdreel.live.stream_results([one.analysis], every=0)
                yield next(live)
        producer.end()
        yield from live

    with AuditLog(tmp_path / "log") as log:
        *_, found = steer(turns(), [one], plan, SignalControl(None), log)
    assert found.n_frames == len(distances)
    said = [(event, frame) for event, _, _, frame in events(tmp_path / "log") if event in ("fired", "cooling-down")]
    assert said == [
        ("fired", 2),
        ("cooling-down", 3),
        ("fired", 4),
        ("cooling-down", 5),
        ("fired", 6),
        ("cooling-down", 7),
        ("fired", 8),
        ("fired", 11),
    ]  # two of three meet it at 2 to 8, and at 11


def test_dry_run_says_what_would_be_done_and_does_nothing(atoms: Any, channel: Publish, tmp_path: Path) -> None:
    touch = command("touch", "{checkpoint}", name="touch", placeholders=True)
    plan = Plan(rule=(rule(actions=("touch",)), rule(name="end", actions=("stop", "touch"))), action=(touch,))
    path = channel([1, 4, 4])
    before = set(tmp_path.rglob("*"))
    assert steered(atoms, path, plan, folder=tmp_path, dry_run=True) == SteeringStatistics(3, 2, 0, 0)
    noticed = set(tmp_path.rglob("analyses")) | set(
        tmp_path.rglob("analyses/*")
    )  # what every live analysis says of itself
    assert set(tmp_path.rglob("*")) == before | noticed | {path / "steering.jsonl"}
    log = lines_of(path / "steering.jsonl")
    assert "dry run" in log[0]["message"]
    assert [line["message"] for line in log if line["event"] == "dry-run"] == [
        "would run touch CHECKPOINT",
        f"would ask the simulation of channel {path} to stop",
        "would run touch CHECKPOINT",
    ]


def test_no_rule_fires_while_a_stop_is_under_way(atoms: Any, channel: Publish) -> None:
    rules = (rule(name="end", actions=("stop",), at_most=0), rule(name="late", actions=("stop",), at_most=0))
    path = channel([4, 4, 4])
    found = steered(atoms, path, Plan(rule=rules), dry_run=True)
    assert found.n_fired == 1
    assert [name for event, name, *_ in events(path / "steering.jsonl") if event == "fired"] == ["end"]


def test_stop_that_failed_may_be_tried_again(atoms: Any, channel: Publish) -> None:
    path = channel([4] * 40)
    plan = Plan(rule=(rule(actions=("stop",), at_most=0),))
    one = observed(atoms, path)
    turns = mdreel.live.stream_results([one.analysis], stop=20, every=0)
    with AuditLog(path / "steering.jsonl") as log:
        *_, found = steer(turns, [one], plan, SignalControl(None), log)
    assert found.n_fired == found.n_failed >= 1
    assert "there is no process to stop" in lines_of(path / "steering.jsonl")[2]["message"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"column": "e"}, "rule 'far': distance has no column 'e'; known: d"),
        ({"analysis": "rmsd"}, "rule 'far': unknown analysis 'rmsd'; known: distance"),
    ],
)
def test_rule_on_what_there_is_not_is_an_error(
    atoms: Any, channel: Publish, settings: dict[str, str], expected: str
) -> None:
    with pytest.raises(MismatchError) as raised:
        steered(atoms, channel([1]), Plan(rule=(rule(**settings, actions=("stop",)),)))
    assert str(raised.value) == expected


def test_several_columns_want_a_name(atoms: Any, channel: Publish) -> None:
    one = observed(atoms, channel([1, 2]))
    both = ObservedAnalysis("distance", one.analysis, lambda done: {"d": done.results.timeseries, "e": [1, 2]})
    plan = Plan(rule=(rule(actions=("stop",)),))
    with AuditLog(Path("/dev/null")) as log, pytest.raises(MismatchError, match="set column to one of: d, e"):
        list(steer(mdreel.live.stream_results([one.analysis], every=0), [both], plan, SignalControl(None), log))


def test_end_by_an_error_is_logged_and_raised(atoms: Any, tmp_path: Path) -> None:
    with mdreel.live.Producer(tmp_path / "run1", 2) as producer:
        producer.publish(np.zeros((2, 3), np.float32), 0, 0.0)
        producer.end("failed", "the water boiled")
    with pytest.raises(mdreel.errors.StreamError, match="the water boiled"):
        steered(atoms, tmp_path / "run1", Plan(rule=(rule(actions=("stop",)),)))
    log = lines_of(tmp_path / "run1" / "steering.jsonl")
    assert [line["event"] for line in log] == ["started", "ended"]
    assert "the water boiled" in log[1]["message"]


def test_steering_that_is_left_says_so(atoms: Any, channel: Publish) -> None:
    path = channel([4, 1])
    one = observed(atoms, path)
    plan = Plan(rule=(rule(),), action=(command("sleep", "600"),))
    with AuditLog(path / "steering.jsonl") as log:
        looks = steer(mdreel.live.stream_results([one.analysis], every=0), [one], plan, RequestControl(path), log)
        next(looks)
        looks.close()  # as Ctrl-C: the command that runs is ended
    found = lines_of(path / "steering.jsonl")
    assert [line["event"] for line in found] == ["started", "fired", "failed", "ended"]
    assert "interrupted" in found[2]["message"]
    assert "interrupted after" in found[3]["message"]
