"""Messages of the library in the words of the command line."""

from pathlib import Path

import click
import pytest

from mdreel.cli import commands
from mdreel.cli.option_names import _RENAMED, in_options

COMMAND = click.Command(
    "rdf",
    params=[
        click.Option(["-nt", "--n-workers"]),
        click.Option(["--pbc/--no-pbc"]),
        click.Option(["--squared"], is_flag=True),
        click.Option(["--norm"], type=click.Choice(["rdf", "none"])),
        click.Option(["--bins"]),
        click.Option(["--memory"]),
        click.Option(["--step"]),
        click.Option(["--select", "selection"]),
    ],
)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("n_workers must be at least 1, not 0", "--n-workers must be at least 1, not 0"),
        ("memory must be a text", "--memory must be a text"),
        ("a.xtc: memory must be a text", "a.xtc: --memory must be a text"),
        ("the memory is full", "the memory is full"),
        ("give a smaller nbins", "give a smaller --bins"),
        ("no frame is left of step=3", "no frame is left of --step 3"),
        ("give pbc=False", "give --no-pbc"),
        ("give pbc=True", "give --pbc"),
        ("give squared=False", "give no --squared"),
        ('give norm="none" for counts', "give --norm none for counts"),
        ("give norm=None", "give --norm none"),
        ("give select='name CA'", "give --select 'name CA'"),
        ("select others, or give check_protein=False", "select others"),
        ("select others, or use pbc=False", "select others, or use --no-pbc"),
        ("n_workers[0] has no value", "--n-workers has no value"),
        ("a_b/n_workers.xtc: no such file", "a_b/n_workers.xtc: no such file"),
        ("unknown=3 stays", "unknown=3 stays"),
        ("use pbc=True, or --pbc on the command line", "use pbc=True, or --pbc on the command line"),
    ],
)
def test_parameters_become_options(message: str, shown: str) -> None:
    assert in_options(message, COMMAND) == shown


def test_path_with_the_name_of_a_parameter_is_no_option() -> None:
    message = "memory: the channel does not exist"
    assert in_options(message, COMMAND, {"memory": Path("memory")}) == message
    assert in_options(message, COMMAND, {"memory": "./memory"}) == message
    assert in_options(message, COMMAND, {"memory": None}) == "--memory: the channel does not exist"


def test_renamed_parameters_have_an_option() -> None:
    entries = (entry for group in commands.GROUPS.values() for entry in group)
    options = {str(one.name) for entry in entries for one in commands.load(entry).params}
    assert set(_RENAMED.values()) <= options


def test_short_help_has_whole_sentences() -> None:
    """A text that ends with a colon introduces options that only ``--help-all`` shows."""
    for group in commands.GROUPS.values():
        for entry in group:
            for option in commands.load(entry).params:
                text = getattr(option, "help", None) or "."
                assert text.rstrip()[-1] not in ":,;", f"{entry.name} {option.name}: {text}"
