"""Commands are loaded when they run, and no more of the package than they need."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import click
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

from architecture.checkout import ROOT
from mdreel.cli import commands
from mdreel.cli.lazy_group import LazyGroup
from mdreel.cli.options.declare import HELP
from mdreel.execution.choices import Backend
from mdreel.execution.executors.resolve_executor import EXECUTORS
from mdreel.live.choices import DialectName
from mdreel.live.engines.imd.dialects import DIALECTS

MOST_FILES = 10
"""Files of `mdreel.cli` that a request of an analysis goes through."""

PROGRAM = """
import atexit, os, sys
from mdreel.cli.main import main
sys.argv = ["mdreel", *sys.argv[1:]]
def show():
    names = sorted(name for name, module in sys.modules.items() if name.startswith(sys.argv_prefix))
    os.write(2, " ".join(names).encode())
sys.argv_prefix = os.environ["PREFIX"]
atexit.register(show)
main()
"""


def loaded(prefix: str, *words: str) -> list[str]:
    """Return the modules with a prefix that a command has loaded when it ends."""
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, env={"PREFIX": prefix, "MPLCONFIGDIR": "/tmp"})
    assert done.returncode == 0, done.stderr
    return done.stderr.split()


def files(modules: list[str]) -> list[str]:
    """Leave out packages, whose `__init__` files are empty."""
    package = Path(commands.__file__).parents[2]
    return [name for name in modules if (package / f"{name.replace('.', '/')}.py").exists()]


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_main_help_loads_no_command(words: list[str]) -> None:
    assert files(loaded("mdreel.cli", *words)) == [
        "mdreel.cli.commands",
        "mdreel.cli.errors",
        "mdreel.cli.help_page",
        "mdreel.cli.main",
        "mdreel.cli.output",
    ]
    assert loaded("click", *words) == loaded("rich", *words) == loaded("mdreel_lab.commands.", *words) == []


def test_help_of_a_command_loads_no_other_command() -> None:
    own = [name for name in loaded("mdreel.cli", "rmsd", "--help") if name.startswith("mdreel.cli.analyses.")]
    assert own == ["mdreel.cli.analyses.request", "mdreel.cli.analyses.rmsd"]


def test_analysis_of_a_file_goes_through_few_files_and_loads_nothing_about_simulations() -> None:
    words = ("rmsd", "-s", PSF, "-f", DCD, "-q", "--stop", "3")
    found = files(loaded("mdreel.cli", *words))
    assert "mdreel.cli.analyses.runner" in found
    assert len(found) <= MOST_FILES, found
    assert loaded("mdreel.live", *words) == []


def test_main_help_shows_all_commands_in_groups(run) -> None:
    page = run("--help").stdout
    for title, entries in commands.groups().items():
        section = page.split(f"\n{title}:\n")[1].split("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines()] == [entry.name for entry in entries]
        assert all(len(line.split(maxsplit=1)) == 2 for line in section.splitlines())
    assert max(map(len, page.splitlines())) <= 100


def test_table_names_commands_that_exist() -> None:
    for entries in commands.groups().values():
        for entry in entries:
            assert commands.load(entry).name == entry.name
            assert entry.help.endswith(".")


@pytest.mark.parametrize("entry", commands.ANALYSES, ids=lambda entry: entry.name)
def test_help_of_an_analysis_fits_two_screens(entry: commands.Entry) -> None:
    command = commands.load(entry)
    context = click.Context(command, info_name=entry.name, terminal_width=100, max_content_width=100)
    short = command.get_help(context)
    context.meta[HELP] = True
    whole = command.get_help(context)
    assert len(short.splitlines()) <= 100
    for option in ("--access", "--scheduler", "--start-at", "--end-idle"):
        assert f"  {option}" in whole
        assert f"  {option}" not in short


def test_help_all_shows_all_options(run) -> None:
    page = run("rmsd", "--help-all").stdout
    assert "--scheduler ADDRESS" in page
    assert "mdreel rmsd -s" in page.split("Examples:")[1]


@pytest.mark.parametrize("words", ["align", "cluster slurm", "info", "ensemble run", "rmsd"])
def test_every_command_has_help_all(run, words: str) -> None:
    whole, short = (run(*words.split(), option) for option in ("--help-all", "--help"))
    assert (whole.returncode, whole.stderr) == (0, "")
    assert (whole.stdout == short.stdout) == (words != "rmsd")
    assert ("--help-all" in short.stdout) == (words == "rmsd")


def test_packages_add_commands_by_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "planets.py").write_text(
        '"""Show the planets."""\nimport click\n@click.command()\ndef show() -> None:\n    click.echo("Mars")\n'
    )
    folder = tmp_path / "planets-1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text(
        "[console_scripts]\nplanets = planets:main\n\n[mdreel.commands]\nplanets = planets:show\n\n[other]\na = b:c\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    entry = commands.find("planets")
    assert entry == commands.Entry("planets", "planets", "Show the planets.", "show")
    assert "planets" not in sys.modules
    assert entry in commands.groups()[commands.PLUG_INS]
    commands.load(entry).main([], standalone_mode=False)
    assert capsys.readouterr().out == "Mars\n"


def test_commands_of_the_lab_say_where_they_are_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with (ROOT / "lab" / "pyproject.toml").open("rb") as file:
        assert set(tomllib.load(file)["project"]["entry-points"][commands.ENTRY_POINTS]) == set(commands.LAB)
    monkeypatch.setattr(commands, "_entry_point_files", lambda: iter(()))
    for name in commands.LAB:
        with pytest.raises(click.UsageError, match=r"part of mdreel-lab, .* run \./task build, or pip install"):
            LazyGroup().main([name, "--help"], standalone_mode=False)


def test_choices_are_those_of_the_library() -> None:
    assert get_args(Backend) == tuple(EXECUTORS)
    assert get_args(DialectName) == tuple(DIALECTS)
