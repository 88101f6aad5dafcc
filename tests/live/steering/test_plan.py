"""Tests of the validation and the schema of rule files."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from architecture.checkout import ROOT
from live.steering.conftest import run_steer
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.live.rules_file import read_steering
from mdreel.errors import FormatError, MismatchError
from mdreel.live.steering import read_plan

RULES = """
[run]
step = 2

[engine]
pid = 4711
checkpoint = "md.cpt"
timeout = 600

[[analysis]]
type = "rmsd"
name = "ca"
select = "name CA"
output = "rmsd.csv"

[[analysis]]
type = "helices"
segment = ["13:24", "31:40"]

[[rule]]
name = "settled"
analysis = "helices"
column = "helix_1"
around = 40
percent = 5
frames = 200
share = 0.8
actions = ["stop", "again"]

[[rule]]
name = "sampled"
analysis = "ca"
effective-samples = 50
frames = 250
actions = "note"
cool-down-frames = 100
cool-down-seconds = 60.5
at-most = 0

[[action]]
name = "again"
type = "fork"
command = ["sh", "fork.sh", "{checkpoint}"]
placeholders = true

[[action]]
type = "run-command"
name = "note"
command = ["logger", "sampled"]
timeout = 5
"""
NOTHING_THERE = {"topology": Path("none.psf"), "trajectories": [Path("none.xtc")], "follow": True, "end_idle": 1.0}
FILES = ("-s", "none.psf", "-f", "none.xtc", "--follow", "--end-idle", "1")


def test_plan_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(RULES)
    plan = read_plan(tmp_path / "rules.toml")
    assert [rule.name for rule in plan.rule] == ["settled", "sampled"]
    assert plan.rule[0].window == (38.0, 42.0)
    assert plan.rule[0].n_needed == 160
    assert plan.rule[1].actions == ("note",)
    assert list(plan.actions) == ["stop", "checkpoint", "again", "note"]
    assert [plan.actions[name].is_waited_for for name in ("again", "note")] == [False, True]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("[run]", "[run"), "no TOML"),
        (('select = "name CA"', "select = name CA"), "texts need quotation marks, as in select = "),
        (("step = 2", "steps = 2"), "[run]: unknown name 'steps'"),
        (("[run]", "more = 1\n[run]"), "unknown name 'more'"),
        (('type = "helices"', 'type = "rmsf"'), "analysis 2: rules need values of each frame"),
        (('type = "helices"', 'type = "helix"'), "analysis 2: rules need values of each frame"),
        (('type = "helices"', 'type = "helices"\nname = "ca"'), "analysis 2: there are several 'ca'"),
        (('name = "ca"', "name = 7"), "analysis 1: name: expected a text, got 7"),
        (('select = "name CA"', 'selection = "name CA"'), "analysis 1 (rmsd): unknown name 'selection'"),
        (('select = "name CA"', 'selection = "name CA"'), "; did you mean 'select'?"),
        (("[[rule]]", "[[rules]]"), "unknown name 'rules'; known: rule, action, engine, analysis, run, topology"),
        (("[[rule]]", "[[rules]]"), "; did you mean 'rule'?"),
        (("cool-down-frames", "cooldown_frames"), "; did you mean 'cool-down-frames'?"),
        (("effective-samples", "effective-sample"), "; did you mean 'effective-samples'?"),
        (('"stop", "again"', '"stop", "agian"'), "; did you mean 'again'?"),
        (('analysis = "ca"', 'analysis = "cb"'), "rule 'sampled': unknown analysis 'cb'; known: ca, helices"),
        (('name = "settled"\n', ""), "rule 1: name is missing"),
        (('name = "settled"', 'name = "sampled"'), "rule 'sampled': several have this name"),
        (("around = 40", 'around = "forty"'), "rule 1: around: expected a number, got 'forty'"),
        (("around = 40", "around = 40\nabove = 3"), "rule 'settled': expected one condition of above"),
        (("around = 40", "inside = [1]"), "rule 1: inside: expected 2 values, got [1]"),
        (("frames = 200", "frames = 0"), "rule 1: frames: must be 1 or more, not 0"),
        (("share = 0.8", "share = 80"), "rule 'settled': share must be more than 0 and at most 1, not 80"),
        (("effective-samples", "effective-sample"), "rule 2: unknown name 'effective-sample'; known: name, analysis"),
        (('"stop", "again"', '"stop", "agian"'), "rule 'settled': unknown action 'agian'; known: stop, checkpoint"),
        (("cool-down-frames = 100", "cool-down-frames = -1"), "cool-down-frames: must be 0 or more, not -1"),
        (('type = "fork"', 'type = "spoon"'), "action 1: type: expected one of stop, checkpoint, fork"),
        (('command = ["sh", "fork.sh", "{checkpoint}"]\n', ""), "action 'again': command is missing"),
        (('"{checkpoint}"', '"{chekpoint}"'), "action 'again': '{chekpoint}': unknown placeholder {chekpoint}; known:"),
        (('"{checkpoint}"', '"{checkpoint"'), "action 'again': '{checkpoint': "),
        (('"stop", "again"', '"checkpoint"'), "requires an engine that is controlled by requests, not by signals"),
        (("pid = 4711", "pid = 1"), "engine: pid: must be 2 or more, not 1"),
        (("pid = 4711", 'pid = 4711\npid-file = "a"'), "engine: give either pid or pid-file, not both"),
        (("pid = 4711", 'signal = "KILL"'), "engine: signal: expected one of TERM"),
        (("pid = 4711", ""), "rule 'settled': stop needs the engine's process"),
        (('checkpoint = "md.cpt"', ""), "fork needs the engine's checkpoint; set checkpoint in [engine]"),
        (("pid = 4711", 'reach = "requests"'), "pid, pid-file and checkpoint are for reach"),
        (("[[rule]]", "[rule]", 1), ""),
        (("[engine]", "[[engine]]"), "engine: expected a table"),
    ],
)
def test_what_is_wrong_with_rules_is_said_in_one_line(
    tmp_path: Path, change: tuple[str, str] | tuple[str, str, int], expected: str
) -> None:
    wrong = RULES.replace(*change)
    assert wrong != RULES
    path = tmp_path / "rules.toml"
    path.write_text(wrong)
    with pytest.raises(CommandError) as raised:
        read_steering(path, has_engine=False, **NOTHING_THERE)
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)
    assert expected in str(raised.value)
    assert raised.value.code is ExitCode.INPUT
    assert [path.name for path in tmp_path.iterdir()] == ["rules.toml"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "name the rules file"),
        (("none.toml", *FILES), "none.toml: No such file or directory"),
        (
            ("rules.toml", "-f", "a.xtc", "--follow", "--end-idle", "1"),
            "rules.toml: topology is missing: add it to this file, or use -s",
        ),
        (("rules.toml", "-s", "a.psf"), "trajectory is missing: add it to this file, or use -f or --channel"),
        (("rules.toml", "-s", "a.psf", "-f", "a.xtc"), "name the running simulation: --channel, or -f with --follow"),
        (("rules.toml", "-s", "a.psf", "-f", "a.xtc", "--follow"), "--follow needs an end"),
        (("rules.toml", "-s", "a.psf", "-f", "a.xtc", "--channel", "b"), "either --trajectory or --channel"),
        (("rules.toml", *FILES, "--", "true"), "engine: remove pid and pid-file, because mdreel starts the engine"),
        (("rules.toml", *FILES), "none.xtc"),
        (("wrong.toml", *FILES), "wrong.toml: rule 'settled': expected one condition"),
    ],
)
def test_what_is_wrong_with_the_command_is_said_in_one_line(
    tmp_path: Path, words: tuple[str, ...], expected: str
) -> None:
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "wrong.toml").write_text(RULES.replace("around = 40", "around = 40\nabove = 1"))
    done = run_steer(tmp_path, *words)
    assert done.returncode in (2, 3)
    assert done.stderr.startswith("mdreel: error: ")
    assert done.stderr.count("\n") == 1
    assert expected in done.stderr


@pytest.mark.parametrize("setting", ['units = "nm"', 'time-unit = "ns"'])
def test_rules_refuse_other_units_than_those_of_their_limits(tmp_path: Path, setting: str) -> None:
    (tmp_path / "rules.toml").write_text(RULES.replace("[run]", f"[run]\n{setting}"))
    done = run_steer(tmp_path, "rules.toml", "-s", "none.psf", "--channel", "none")
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "[run]: rules compare values in Å and ps: leave out units and time-unit" in done.stderr


def test_python_reads_the_rules_of_a_file_only(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(RULES.replace("around = 40", "around = 40\nabove = 1"))
    with pytest.raises(MismatchError, match=r"rules.toml: rule 'settled': expected one condition"):
        read_plan(path)
    path.write_text("[run]\nstep = 2")
    with pytest.raises(MismatchError, match=r"rules.toml: expected at least one \[\[rule\]\]"):
        read_plan(path)
    path.write_bytes(b"\xff")
    with pytest.raises(FormatError, match=r"rules.toml: no TOML"):
        read_plan(path)


def test_schema_describes_rules(tmp_path: Path) -> None:
    schema = json.loads(run_steer(tmp_path, "--schema").stdout)
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    rules = tomllib.loads(RULES)
    assert not list(validator.iter_errors(rules))
    first = rules["rule"][0]
    for wrong in (
        {**rules, "more": 1},
        {**rules, "rule": []},
        {**rules, "rule": first},
        {**rules, "rule": [{**first, "abov": 1.0}]},
        {**rules, "rule": [{**first, "frames": 0}]},
        {**rules, "analysis": [{"type": "rmsf"}]},
        {**rules, "analysis": [{"type": "rmsd", "name": 7}]},
        {**rules, "action": [{"type": "spoon"}]},
        {**rules, "engine": {"pid": 1}},
        {name: table for name, table in rules.items() if name != "rule"},
    ):
        assert list(validator.iter_errors(wrong)), wrong
    assert json.loads((ROOT / "docs" / "reference" / "schemas" / "steering.schema.json").read_text()) == schema


def test_rules_of_the_page_are_rules(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "how-to" / "steering.md").read_text()
    first, *actions, engine = (block.split("```")[0] for block in text.split("```toml\n")[1:])
    (tmp_path / "rules.toml").write_text(first)
    task = read_steering(tmp_path / "rules.toml", has_engine=True, **NOTHING_THERE)
    assert task.plan.rule[0].n_needed == 3
    rule = first.split("[[rule]]")[1].replace('"stop"', '"stop", "again"')
    for more in (*actions, engine.replace('[[rule]]\nname = "settled"\n...\nactions = ["stop", "again"]\n', "")):
        (tmp_path / "rules.toml").write_text(first.split("[[rule]]")[0] + "[[rule]]" + rule + more)
        plan = read_plan(tmp_path / "rules.toml")
        assert plan.actions["again"].type == "fork"
    assert plan.engine.checkpoint == "md.cpt"
