"""Shell completion of commands and options."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from mdreel.cli.errors import CommandError, ExitCode, failing_with

PROGRAM = "mdreel"
VARIABLE = "_MDREEL_COMPLETE"

SHELLS = ("bash", "zsh", "fish")


def script_of(command: click.Command, shell: str) -> str:
    """Return the script that enables completion of mdreel commands in a shell.

    Parameters
    ----------
    command : click.Command
        The main command.
    shell : str
        The name of the shell. If it is empty, the user's shell is used.

    Raises
    ------
    CommandError
        If completion is not available for this shell.
    """
    found = get_completion_class(_known(shell))
    assert found is not None
    return found(command, {}, PROGRAM, VARIABLE).source()


def install(command: click.Command, shell: str) -> str:
    """Write the script to the configuration of a shell, and return a message for the user; see `script_of`."""
    shell, script = _known(shell), script_of(command, shell)
    places = {
        "bash": Path.home() / ".bash_completions" / f"{PROGRAM}.sh",
        "zsh": Path.home() / ".zfunc" / f"_{PROGRAM}",
        "fish": Path.home() / ".config" / "fish" / "completions" / f"{PROGRAM}.fish",
    }
    lines = {
        "bash": (Path.home() / ".bashrc", f"source '{places['bash']}'"),
        "zsh": (Path.home() / ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    }
    with failing_with(ExitCode.OUTPUT):
        places[shell].parent.mkdir(parents=True, exist_ok=True)
        places[shell].write_text(script, encoding="utf-8")
        if shell in lines:
            file, line = lines[shell]
            content = file.read_text(encoding="utf-8") if file.exists() else ""
            if line not in content:
                file.write_text(f"{content}\n{line}\n", encoding="utf-8")
    return f"{shell} completion installed in {places[shell]}; it takes effect in new shells"


def _known(shell: str) -> str:
    """Return the name of a shell. By default, return the user's shell."""
    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        message = f"no completion for the shell {name!r}: name one of {', '.join(SHELLS)}"
        raise CommandError(message, ExitCode.USAGE)
    return name
