"""The command itself: help, version, completion, and what it may import."""

import subprocess
import sys
from importlib.metadata import version

import pytest


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["rmsd", "--help"], ["info", "-h"]])
def test_help_shows_an_example(run, arguments):
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mdreel " in done.stdout.split("xample")[1]


def test_help_lists_each_option_of_gromacs(run):
    lines = run("rmsd", "--help").stdout.splitlines()
    for option in ("-s", "-f", "-b", "-e", "-dt", "-o", "-nt"):
        assert any(line.startswith(f"  {option},") for line in lines), option


def test_help_imports_nothing_heavy():
    program = (
        "import sys, io, contextlib\n"
        "sys.argv = ['mdreel', 'rmsd', '--help']\n"
        "from mdreel.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main()\n"
        "print(*{'numpy', 'MDAnalysis', 'rich', 'matplotlib', 'scipy', 'mdreel._core'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_version_is_that_of_the_package(run):
    assert run("--version").stdout == f"mdreel {version('mdreel')}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_offered(run, shell):
    done = run("--show-completion", shell)
    assert done.returncode == 0
    assert "_MDREEL_COMPLETE" in done.stdout


def test_completion_knows_commands_and_options(run):
    def complete(words, index):
        settings = {"_MDREEL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(index)}
        return [line.removeprefix("plain,") for line in run(**settings).stdout.splitlines()]

    assert complete("mdreel r", 1) == [
        "rmsd",
        "rmsf",
        "rmsd2d",
        "rg",
        "ramachandran",
        "rdf",
        "residue-contacts",
        "repack",
        "relay",
        "run",
        "report",
    ]
    assert "--select" in complete("mdreel rmsd --se", 2)
    assert complete("mdreel rmsd --weights m", 3) == ["mass"]
