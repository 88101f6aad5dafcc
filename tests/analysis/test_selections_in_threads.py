"""Tests of selections that several threads make at the same time."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import MDAnalysis
import pytest
from MDAnalysis.analysis.base import AnalysisBase
from MDAnalysis.analysis.results import ResultsGroup
from MDAnalysis.core.selection import SelectionParser

import mdreel
from mdreel.trajectory.selection_parser import separate_selection_parsers
from peptide_system import peptide, peptide_positions, write_peptide

# Words of one string have another meaning, or none, in the others.
SELECTIONS = ["resid 2:5 and not name CA", "(name C or name N) and resid 7", "prop mass > 5", "same residue as name OG"]


@pytest.fixture(autouse=True)
def _threads_switch_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def _selected(atoms: Any, selection: str) -> list[int]:
    return [int(index) for index in atoms.select_atoms(selection).ix]


class Selects(mdreel.AnalysisBase):
    """Selects atoms in each frame."""

    def _prepare(self) -> None:
        self.results.found = []

    def _single_frame(self) -> None:
        self.results.found.append([_selected(self.atomgroup, selection) for selection in SELECTIONS])


class SelectsWithMDAnalysis(AnalysisBase):  # type: ignore[misc]
    """Selects atoms in each frame."""

    _analysis_algorithm_is_parallelizable = True

    @classmethod
    def get_supported_backends(cls) -> tuple[str, ...]:
        return ("serial", "multiprocessing")

    def __init__(self, atoms: MDAnalysis.AtomGroup) -> None:
        super().__init__(atoms.universe.trajectory)
        self.atoms = atoms

    def _prepare(self) -> None:
        self.results.found = []

    def _single_frame(self) -> None:
        self.results.found.append([_selected(self.atoms, selection) for selection in SELECTIONS])

    def _get_aggregator(self) -> ResultsGroup:
        return ResultsGroup({"found": ResultsGroup.flatten_sequence})


def test_analyses_in_threads_select_the_same_atoms(tmp_path: Path) -> None:
    write_peptide(tmp_path / "frames.xtc", 20)
    universe = peptide()
    universe.load_new(str(tmp_path / "frames.xtc"))
    expected = [_selected(universe.atoms, selection) for selection in SELECTIONS]
    found = Selects(universe.atoms).run(n_workers=2, n_parts=10).results.found
    assert found == [expected] * len(universe.trajectory)
    backend = mdreel.mdanalysis.backend("threads", n_workers=2)
    theirs = SelectsWithMDAnalysis(universe.atoms).run(backend=backend, n_parts=10).results.found
    assert theirs == found


def test_each_string_is_parsed_alone() -> None:
    separate_selection_parsers()
    atoms = peptide().atoms
    expected = [_selected(atoms, selection) for selection in SELECTIONS]
    wrong: list[Any] = []

    def select(number: int) -> None:
        own = peptide().atoms
        for _ in range(20):
            try:
                if (found := _selected(own, SELECTIONS[number])) != expected[number]:
                    wrong.append(found)
            except Exception as error:  # noqa: BLE001 (whatever it is)
                wrong.append(error)

    threads = [threading.Thread(target=select, args=[number]) for number in range(len(SELECTIONS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_later_strings_do_not_change_the_order_of_earlier_groups() -> None:
    separate_selection_parsers()
    universe = peptide()
    universe.load_new(peptide_positions()[:2])
    atoms = universe.atoms[:10][::-1]
    unsorted = atoms.select_atoms("all", updating=True, sorted=False)
    atoms.select_atoms("all", sorted=True)
    universe.trajectory[1]  # the group is updated
    assert [*unsorted.ix] == [*atoms.ix]


def test_mdanalysis_still_has_one_shared_parser() -> None:
    """If this test fails, MDAnalysis has been mended: then remove ``separate_selection_parsers``."""
    assert SelectionParser().__dict__ is SelectionParser().__dict__
