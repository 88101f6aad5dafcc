"""Tests of the validation of ensemble files."""

import json
import subprocess
from pathlib import Path

import pytest

from architecture.checkout import ROOT
from forked_python.command import forked_python
from live.ensemble.conftest import Walks

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

GOOD = """\
name = "walk"
replicas = 4
command = ["simulate", "{channel}", "{seed}"]
restart = ["simulate", "{channel}", "{checkpoint}"]
checkpoint = "state.chk"
topology = "top.pdb"
at-once = 2
[[analysis]]
type = "rmsd"
select = "all"
"""

BAD = [
    ('name = "walk"\n', "", "name is missing"),
    ('name = "walk"', "name = 7", "name: expected a text, got 7"),
    (
        'name = "walk"',
        'name = "a/b"',
        "name: expected 1 to 48 letters, digits, '.', '_' and '-', starting with a letter",
    ),
    ("replicas = 4\n", "", "replicas is missing"),
    ("replicas = 4", "replicas = 0", "replicas: must be 1 or more, not 0"),
    ("replicas = 4", "replicas = 2.5", "replicas: expected a whole number, got 2.5"),
    ("replicas = 4", "replicas = true", "replicas: expected a whole number, got True"),
    ("at-once", "at_once", "unknown name 'at_once'; known: name, replicas, command, restart,"),
    ("at-once = 2", "at-once = 0", "at-once: must be 1 or more, not 0"),
    ("at-once = 2", "restarts = -1", "restarts: must be 0 or more, not -1"),
    ("at-once = 2", "restarts = 51", "restarts: must be 50 or less, not 51"),
    ("at-once = 2", 'patience = "long"', "patience: expected a number, got 'long'"),
    ("at-once = 2", "patience = inf", "patience: expected a finite number, got inf"),
    ("at-once = 2", "grace = nan", "grace: expected a finite number, got nan"),
    ("at-once = 2", 'format = "xlsx"', "format: expected one of csv, parquet, npz, json, nc, xvg, got 'xlsx'"),
    ("at-once = 2", "slurm = 1", "slurm: expected a table, got 1"),
    ("at-once = 2", "slurm = {nodes = 1}", "slurm: unknown name 'nodes'; known: replicas-per-job,"),
    ('command = ["simulate", "{channel}", "{seed}"]', "command = []", "command: expected at least one value"),
    ('command = ["simulate"', 'command = [""', "command: the command has no program"),
    ('"{seed}"', '"{sead}"', "command: '{sead}': unknown placeholder {sead}; known: {replica}, {channel},"),
    ('"{seed}"', '"{seed:03}"', "command: '{seed:03}': unknown placeholder {seed}"),
    ('"{checkpoint}"', '"{checkpoint"', "restart: '{checkpoint': expected '}' before end of string"),
    ('checkpoint = "state.chk"\n', "", "checkpoint is missing; restart requires it"),
    ('restart = ["simulate", "{channel}", "{checkpoint}"]\n', "", "restart is missing; checkpoint requires it"),
    ('"state.chk"', '"../state.chk"', "checkpoint: expected the name of a file, got '../state.chk'"),
    ('topology = "top.pdb"\n', "", "topology is missing"),
    ('"top.pdb"', '"none.pdb"', "none.pdb: No such file or directory"),
    ('[[analysis]]\ntype = "rmsd"\nselect = "all"', "", "there is no [[analysis]]"),
    ('"rmsd"', '"rmsq"', "analysis 1: type must be one of"),
    ('select = "all"', 'selekt = "all"', "analysis 1 (rmsd): unknown name 'selekt'"),
    ('select = "all"', 'select = "name XX"', "selection 'name XX' matches none of the 5 atoms"),
    ('select = "all"', 'output = "a.csv"', "analysis 1: output: not allowed in an ensemble"),
    ('select = "all"', 'name = "../x"', "analysis 1: name: expected up to 64 letters"),
    ('select = "all"', 'name = "replicas"', "analysis 1: name: expected up to 64 letters"),
    ('select = "all"', '[[analysis]]\ntype = "rmsd"', "analysis 2: there are several 'rmsd': give each a name"),
    ("[[analysis]]", "[run]\nbegin = 3\n[[analysis]]", "[run]: unknown name 'begin'; known: start, stop, step,"),
    ("[[analysis]]", '[run]\nstep = "x"\n[[analysis]]', "[run]: step: expected a whole number, got 'x'"),
    (
        'type = "rmsd"',
        'type = "density"\ngrid = "a.dx"',
        "analysis 'density': it writes a file at its end, which needs a finished simulation",
    ),
    ("replicas = 4", "replicas = ", "no TOML"),
]


@pytest.mark.parametrize(("good", "bad", "expected"), BAD, ids=[expected[:50] for _, _, expected in BAD])
def test_bad_file_is_refused(walks: Walks, good: str, bad: str, expected: str) -> None:
    assert GOOD.count(good) >= 1
    walks.write(GOOD.replace(good, bad, 1))
    said = refused(walks)
    assert expected in said, said
    assert "Traceback" not in said
    assert not walks.place.exists()


def refused(walks: Walks) -> str:
    """Run the command on a file in this process and return its output."""
    from mdreel.cli.errors import CommandError, ExitCode
    from mdreel.cli.live.ensemble_file import make_analyses, read_ensemble

    with pytest.raises(CommandError) as raised:
        make_analyses(read_ensemble(walks.folder / "e.toml"))
    assert raised.value.code in (ExitCode.INPUT, ExitCode.USAGE)
    return str(raised.value)


def test_missing_file_is_refused_by_the_command(walks: Walks) -> None:
    said = walks.run(code=3)
    assert said.splitlines()[-1] == "mdreel: error: e.toml: No such file or directory"


def test_good_file_is_understood(walks: Walks) -> None:
    from mdreel.cli.live.ensemble_file import read_ensemble

    walks.write(GOOD)
    task = read_ensemble(walks.folder / "e.toml")
    assert (task.table.replicas, task.table.n_at_once, list(task.analyses)) == (4, 2, ["rmsd"])
    assert [task.table.label(number) for number in (0, 3)] == ["000", "003"]
    assert task.table.directory_path(task.folder) == walks.place


def test_schema_in_the_documentation_is_the_one_that_is_printed() -> None:
    words = [forked_python(), "-m", "mdreel.cli", "ensemble", "run", "--schema"]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert printed == Path(ROOT / "docs" / "reference" / "schemas" / "ensemble.schema.json").read_text()
    schema = json.loads(printed)
    assert schema["required"] == ["name", "replicas", "command", "topology", "analysis"]
    assert set(schema["properties"]["run"]["properties"]) == {
        "start",
        "stop",
        "step",
        "n-workers",
        "transform",
        "center-on",
    }
