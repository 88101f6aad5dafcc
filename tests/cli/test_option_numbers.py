"""Options with numbers: a unit in the value gives an error with the number to write."""

import click
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

from command_results import refused
from mdreel.cli import commands
from mdreel.cli.options.declare import Number, NumberInRange


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-b", "10ns"), "'10ns' has a unit: write the number of ps, 10000"),
        (("-dt", "0.5 ns"), "'0.5 ns' has a unit: write the number of ps, 500"),
        (("-e", "1e3fs"), "write the number of ps, 1"),
        (("-nt", "two"), "'two' is not a valid whole number"),
        (("-e", "5apples"), "'5apples' is not a valid number"),
    ],
)
def test_time_with_a_unit_is_refused_with_the_number(run, words: tuple[str, ...], message: str) -> None:
    refused(run("rmsd", "-s", PSF, "-f", DCD, *words), 2, message)


def test_length_with_a_unit_is_refused_with_the_number(run) -> None:
    refused(run("contacts", "-s", PSF, "-f", DCD, "--radius", "0.45nm"), 2, "write the number of Å, 4.5")


def test_files_without_options_name_the_options(run) -> None:
    refused(run("rmsd", "adk.psf", "adk.dcd"), 2, "name the topology with -s, the trajectory with -f")
    refused(run("rmsd", "-f", "adk.dcd"), 2, "Missing option '-s' / '--topology'")


def test_every_option_with_a_number_knows_its_unit() -> None:
    entries = (entry for group in commands.GROUPS.values() for entry in group)
    numbers = [
        one
        for entry in entries
        for one in commands.load(entry).params
        if isinstance(one.type, click.types.FloatParamType)
    ]
    assert len(numbers) > 50
    assert all(isinstance(one.type, Number | NumberInRange) for one in numbers)
