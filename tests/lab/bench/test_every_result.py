"""The page that lists every result of the papers: each named producer exists, and each figure of a scenario is used."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

import mdreel
from mdreel.cli.commands import find
from mdreel.timing.observables import Observables
from mdreel_lab.bench.exchange.scenario import Exchange
from mdreel_lab.bench.scenario_files import read_scenario, shipped

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "papers" / "every-result.md"
EXCHANGED = ("times", "medians", "factors", "tree")
"""Tables and figures on the page of each scenario of exchange."""


def rows() -> list[list[str]]:
    """Return the cells of all rows below the headings of tables."""
    cells = [
        [cell.strip() for cell in line.strip("|\n ").split(" | ")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("| ")
    ]
    return [row for row in cells if row[0] != "Item"]


def producers() -> list[str]:
    """Return the names under "Produced by", and the names of classes under "Ours"."""
    named = [name for row in rows() for name in re.findall(r"`([^`]+)`", row[1])]
    return [*named, *(name for row in rows() for name in re.findall(r"`(mdreel\.\w+)`", row[3]))]


def made_by(scenario: str) -> tuple[str, ...]:
    """Return the names of the figures and tables of a scenario."""
    read = read_scenario(shipped()[scenario])
    return EXCHANGED if isinstance(read, Exchange) else (*read.figures, *read.tables)


def exists(producer: str) -> bool:
    if producer.startswith("Observables."):
        name = producer.removeprefix("Observables.")
        return name in {field.name for field in fields(Observables)} or hasattr(Observables, name)
    if producer.startswith("mdreel."):
        return hasattr(mdreel, producer.removeprefix("mdreel."))
    if producer.startswith("mdreel "):
        return find(producer.split()[1]) is not None
    if producer.startswith("extras/"):
        return (ROOT / producer).is_file()
    scenario, _, name = producer.partition("/")
    return scenario in shipped() and name in made_by(scenario)


def test_each_row_has_five_cells_and_a_producer() -> None:
    assert len(rows()) > 100
    for row in rows():
        assert len(row) == 5, row
        assert row[1] == "none" or re.search("`[^`]+`", row[1]), row
        assert row[1] != "none" or row[2] == "illustration", row


@pytest.mark.parametrize("producer", sorted(set(producers())))
def test_producer_exists(producer: str) -> None:
    assert exists(producer), producer


@pytest.mark.parametrize(
    "producer", ["2019-shared/pie", "2018-none/ranks", "mdreel bake", "mdreel.Cake", "Observables.t_x"]
)
def test_producer_that_does_not_exist_is_noticed(producer: str) -> None:
    assert not exists(producer)


def test_each_scenario_of_a_paper_is_named() -> None:
    named = {name.partition("/")[0] for name in producers()}
    of_papers = {name for name in shipped() if re.match(r"20\d\d-", name)}
    # One node repeats these for XFS; the hand-over is not in the paper.
    assert of_papers - named == {"2024-hand-over", "2024-strides-jac", "2024-strides-stmv"}
