"""``mdreel advise``: what it prints, what it refuses, and that its commands do what they say."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from forked_python.command import forked_python
from mpi_launcher import MPICH, needs

NUMBER = {"type": "number", "minimum": 0}
COST = {
    "type": "object",
    "properties": dict.fromkeys(("read", "decompress", "compute", "reduce", "n_bytes"), NUMBER),
    "required": ["read", "decompress", "compute", "reduce", "n_bytes"],
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "properties": {
        "sample": {"type": "object", "properties": {"alone": COST, "n_frames": {"const": 98}}},
        "target": {"type": "object", "required": ["n_nodes", "n_cores", "file_system", "is_here"]},
        "cost": COST,
        "ratio_comp_io": NUMBER,
        "ratio_comp_comm": {"type": ["number", "null"]},
        "verdicts": {
            "type": "array",
            "minItems": 6,
            "items": {"type": "object", "required": ["subject", "choice", "reason", "source", "numbers"]},
        },
        "plan": {"type": "object", "required": ["executor", "n_workers", "n_blocks", "frames_per_block", "access"]},
        "predictions": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"seconds": NUMBER, "speedup": NUMBER, "efficiency": NUMBER},
                "required": ["n_workers", "n_nodes", "executor", "access", "seconds", "speedup", "efficiency", "bound"],
            },
        },
        "commands": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    },
    "required": ["sample", "target", "cost", "ratio_comp_io", "verdicts", "plan", "predictions", "commands"],
    "additionalProperties": False,
}
CLUSTER = ("--nodes", "2", "--cores", "2", "--file-system", "lustre")


@pytest.fixture
def inputs(adk: dict[str, Path]) -> list[str]:
    return ["-s", str(adk["psf"]), "-f", str(adk["xtc"])]


def script(folder: Path, text: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run what --apply printed, with the commands of this environment."""
    (folder / "job.sh").write_text(text)
    programs = folder / "programs"
    programs.mkdir()
    commands = {"mdreel": [sys.executable, "-m", "mdreel.cli"], "mpirun": [str(MPICH.program)]}
    for name, words in commands.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        (programs / name).chmod(0o755)
    environment = {**os.environ, **settings, "PATH": f"{programs}:{os.environ['PATH']}"}
    return subprocess.run(
        ["sh", "job.sh"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_advice_is_a_page_with_numbers_verdicts_and_the_command(run, inputs, tmp_path):
    done = run("advise", "rmsd", *inputs, "--select", "name CA", "-o", "rmsd.csv")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    for name in ("target", "trajectory", "sample", "a frame", "R_comp/io", "file access", "executor", "blocks"):
        assert any(line.startswith(f"{name} ") for line in lines), name
    (command,) = [line for line in lines if line.startswith("mdreel rmsd -s ")]
    assert "--select 'name CA' -o rmsd.csv" in command
    assert list(tmp_path.iterdir()) == []  # nothing was written


def test_script_names_the_expected_time_with_one_worker(run, inputs):
    done = run("advise", "rmsd", *inputs, "-o", "rmsd.csv", "-nt", "1", "--apply")
    assert done.returncode == 0, done.stderr
    assert " s with 1 worker on " in done.stdout


def test_script_says_where_it_is_and_what_it_changes(run, inputs, tmp_path):
    asked = ["advise", "rmsd", *inputs, "-o", "rmsd.csv", "-nt", "1", "--apply"]
    done = run(*asked)
    changes = "changes to your command: options --backend serial"
    assert f"# {changes}\n" in done.stdout
    first, second = done.stderr.splitlines()
    assert first.startswith("mdreel: no file was written, and no command was run; to keep the script, write > job.sh")
    assert second == f"mdreel: {changes}"
    with (tmp_path / "my job.sh").open("w") as file:
        command = [forked_python(), "-m", "mdreel.cli", *asked]
        kept = subprocess.run(command, cwd=tmp_path, stdout=file, stderr=subprocess.PIPE, text=True, check=True)
    script = tmp_path / "my job.sh"
    assert kept.stderr.startswith(
        f"mdreel: the script is in {script}, and no command was run; to run it, write: sh '{script}'\n"
    )
    assert script.read_text().startswith("#!/bin/sh\n")
    assert [path.name for path in tmp_path.iterdir()] == ["my job.sh"]


def test_json_has_its_schema(run, inputs):
    done = run("advise", "rmsd", *inputs, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    jsonschema.validate(json.loads(done.stdout), SCHEMA)


def test_options_may_stand_before_and_behind_the_analysis(run, inputs):
    before = run("advise", "--cores", "1", "--json", "rmsd", *inputs)
    behind = run("advise", "mdreel", "rmsd", *inputs, "--cores", "1", "--json")
    for done in (before, behind):
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["target"]["n_cores"] == 1
        assert found["plan"]["executor"] == "serial"


def test_commands_of_one_machine_give_the_result(run, inputs, tmp_path):
    assert run("rmsd", *inputs, "-o", "expected.csv", "-q").returncode == 0
    done = run("advise", "rmsd", *inputs, "-o", "rmsd.csv", "-q", "-nt", "1", "--apply")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("#!/bin/sh\n# ")
    assert "--backend serial" in done.stdout
    made = script(tmp_path, done.stdout)
    assert (made.returncode, made.stderr) == (0, "")
    assert (tmp_path / "rmsd.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


@needs(MPICH)
def test_commands_of_several_nodes_split_and_start_ranks(run, inputs, adk, tmp_path):
    trajectory = tmp_path / "adk.xtc"
    trajectory.symlink_to(adk["xtc"])
    words = ["-s", adk["psf"], "-f", "adk.xtc"]
    assert run("rmsd", *words, "--step", "2", "-o", "expected.csv", "-q").returncode == 0
    done = run("advise", "rmsd", *words, "--step", "2", "-o", "rmsd.csv", "-q", "-nt", "4", *CLUSTER, "--apply")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "mkdir adk-segments" in lines
    assert "mdreel split -f adk.xtc --n-parts 4 -o adk-segments/adk.xtc" in lines
    (started,) = [line for line in lines if line.startswith("mpirun -n 4 mdreel rmsd ")]
    assert "--access segments --schedule static" in started
    assert "-f adk.xtc" not in started
    assert any(line.startswith("# ") and "cluster slurm --nodes 2 --ntasks-per-node 2" in line for line in lines)
    made = script(tmp_path, done.stdout, **MPICH.environment)
    assert made.returncode == 0, made.stderr
    assert len(list((tmp_path / "adk-segments").iterdir())) == 4
    expected, found = (
        [line for line in (tmp_path / name).read_text().splitlines() if not line.startswith("#")]
        for name in ("expected.csv", "rmsd.csv")
    )
    assert found == expected
    # What is there already is not split once more into the same folder.
    again = run("advise", "rmsd", *words, "-nt", "4", *CLUSTER, "--apply")
    assert "mkdir adk-segments-2" in again.stdout


@needs(MPICH)
def test_commands_of_many_segments_have_the_shell_name_them(run, adk, tmp_path):
    (tmp_path / "adk.xtc").symlink_to(adk["xtc"])
    words = ["-s", adk["psf"], "-f", "adk.xtc", "-o", "rmsd.csv", "-nt", "9"]
    done = run("advise", "rmsd", *words, "--nodes", "3", "--cores", "3", "--file-system", "gpfs", "--apply")
    assert "$(printf -- '-f %s ' adk-segments/adk-*.xtc)" in done.stdout, done.stderr
    made = script(tmp_path, done.stdout, **MPICH.environment)
    assert made.returncode == 0, made.stderr
    assert len([line for line in (tmp_path / "rmsd.csv").read_text().splitlines() if line[:1].isdigit()]) == 98


@needs(MPICH)
def test_recipe_is_run_with_what_is_advised(run, adk, tmp_path):
    folder = tmp_path / "my job"
    folder.mkdir()
    (folder / "adk.xtc").symlink_to(adk["xtc"])
    recipe = f'topology = "{adk["psf"]}"\ntrajectory = "adk.xtc"\n[[analysis]]\ntype = "rmsd"\noutput = "rmsd.csv"\n'
    (folder / "recipe.toml").write_text(recipe)
    done = run("advise", "run", "my job/recipe.toml", "--json")
    assert done.returncode == 0, done.stderr
    jsonschema.validate(json.loads(done.stdout), SCHEMA)
    (folder / "recipe.toml").write_text(recipe.replace("[[analysis]]", "[run]\nn-workers = 4\n[[analysis]]"))
    done = run("advise", "run", "my job/recipe.toml", *CLUSTER, "--apply")
    assert "-f 'my job/adk-segments/adk-4.xtc'" in done.stdout, done.stderr
    made = script(tmp_path, done.stdout, **MPICH.environment)
    assert made.returncode == 0, made.stderr
    assert (folder / "rmsd.csv").exists()


def test_recipe_gives_way_to_what_the_command_says(run, adk, tmp_path):
    recipe = f'topology = "{adk["psf"]}"\ntrajectory = "none.xtc"\n[[analysis]]\ntype = "rmsd"\noutput = "rmsd.csv"\n'
    (tmp_path / "recipe.toml").write_text(recipe)
    assert run("run", "recipe.toml").returncode == 3
    done = run("run", "recipe.toml", "-f", adk["dcd"], "-nt", "1", "--backend", "serial")
    assert done.returncode == 0, done.stderr
    assert "on 1 thread" in done.stderr
    assert (tmp_path / "rmsd.csv").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "missing"),
        (["gmx", "rms"], 2, "expected an analysis (mdreel rmsd"),
        (["convert", "-f", "a.xtc", "-o", "b.xtc"], 2, "expected an analysis"),
        (["rmsd", "-f", "a.xtc"], 2, "mdreel rmsd --help"),
        (["rmsd", "IN", "--selct", "name CA"], 2, "--selct"),
        (["rmsd", "IN", "--coers", "3"], 2, "--coers"),
        (["rmsd", "IN", "--cores", "0"], 2, "cores"),
        (["rmsd", "IN", "--nodes", "-1"], 2, "nodes"),
        (["rmsd", "IN", "--file-system", "floppy"], 2, "file-system"),
        (["rmsd", "IN", "--json", "--apply"], 2, "not both"),
        (["rmsd", "IN", "--backend", "threads"], 2, "leave out --backend"),
        (["rmsd", "IN", "--access", "shared", "--n-parts", "3"], 2, "leave out --access, --n-parts"),
        (["rmsd", "IN", "--schedule", "static"], 2, "leave out --schedule"),
        (["rmsd", "IN", "--follow", "--end-idle", "5"], 2, "--follow"),
        (["rmsd", "IN", "-b", "1", "--start", "2"], 2, "by time"),
        (["rmsd", "IN", "--nodes", "2", "--file-system", "local"], 2, "2 nodes cannot share"),
        (["rmsd", "IN", "-nt", "99", "--cores", "4"], 3, "99 workers were requested"),
        (["rmsd", "IN", "--select", "name XX"], 3, "matches none"),
        (["rmsd", "IN", "--start", "98"], 3, "98 frames"),
        (["rmsd", "-s", "none.psf", "-f", "none.xtc"], 3, "none.xtc"),
        (["rmsd2d", "IN"], 3, "no advice on a DistanceMatrix"),
        (["run", "none.toml"], 3, "none.toml"),
        (["run"], 2, "no recipe given"),
    ],
)
def test_what_cannot_be_advised_on_is_refused_in_one_line(run, inputs, tmp_path, words, code, message):
    words = [word for one in words for word in (inputs if one == "IN" else [one])]
    done = run("advise", *words)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert message.lower() in done.stderr.lower()
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_files_on_this_machine_are_not_seen_by_several_nodes(run, inputs):
    done = run("advise", "rmsd", *inputs, "--nodes", "2", "--cores", "2")
    assert done.returncode == 3
    assert "nodes cannot share" in done.stderr


def test_torn_and_empty_trajectories_are_named(run, adk, tmp_path):
    (tmp_path / "empty.xtc").touch()
    (tmp_path / "torn.xtc").write_bytes(adk["xtc"].read_bytes()[:-50])
    for name in ("empty.xtc", "torn.xtc"):
        done = run("advise", "rmsd", "-s", adk["psf"], "-f", name)
        assert (done.returncode, done.stdout) == (3, "")
        assert name in done.stderr
        assert len(done.stderr.splitlines()) == 1
    done = run("advise", "rmsd", "-s", adk["psf"], "-f", "torn.xtc", "--on-error", "stop")
    assert done.returncode == 0, done.stderr


def test_help_says_how_the_other_command_is_given(run):
    shown = run("advise", "--help").stdout
    assert "mdreel advise ANALYSIS [ITS OPTIONS] [OPTIONS]" in shown
    for option in ("--nodes", "--cores", "--file-system", "--apply", "--json"):
        assert option in shown
