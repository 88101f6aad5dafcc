"""Tests of invariances that hold for every analysis."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mdreel
from analysis_case import everything
from every_analysis import CASES, analyses
from mdreel.analysis.base.analysis import Analysis
from mdreel.execution.executors.local.processes import Processes
from mdreel.execution.executors.local.serial import Serial
from mdreel.execution.executors.local.threads import Threads
from peptide_system import System, in_memory, peptide, peptide_positions, write_peptide

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

WAYS: dict[str, dict[str, Any]] = {
    "2 parts": {"backend": Serial(), "n_parts": 2},
    "7 parts": {"backend": Threads(2), "n_parts": 7},
    "98 parts": {"backend": Threads(3), "n_parts": 98},
    "3 static shares": {"backend": Threads(3, "static")},
    "static shares of 13 parts": {"backend": Threads(2, "static"), "n_parts": 13},
    "processes": {"backend": Processes(2), "n_parts": 5},
    "static processes": {"backend": Processes(2, "static"), "n_parts": 11},
}
N_FRAMES = 98


@pytest.fixture(scope="module")
def trajectory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("laws") / "peptide.xtc"
    write_peptide(path, N_FRAMES)
    return path


@cache
def run_together(trajectory: Path, way: str) -> dict[str, Analysis]:
    """Run all analyses in one pass, which starts processes only once."""
    system = System(peptide(), trajectory)
    made = {name: case.make(system) for name, case in CASES.items()}
    mdreel.run(list(made.values()), **WAYS[way])
    return made


def test_every_analysis_is_listed() -> None:
    listed = {name.partition(",")[0] for name in CASES}
    assert listed == {kind.__name__ for kind in analyses()}


@pytest.mark.parametrize("name", [kind.__name__ for kind in analyses()])
def test_docstring_documents_memory(name: str) -> None:
    (kind,) = (kind for kind in analyses() if kind.__name__ == name)
    assert "memory" in (kind.__doc__ or "").lower()


@pytest.mark.parametrize("name", CASES)
def test_no_way_of_running_changes_a_bit(name: str, trajectory: Path) -> None:
    alone = CASES[name].make(System(peptide(), trajectory))
    expected = everything(alone.run(backend="serial", n_parts=1))
    assert sum(array.size for array in expected) > 0
    for way in WAYS:
        found = everything(run_together(trajectory, way)[name])
        assert [array.shape for array in found] == [array.shape for array in expected], way
        assert [array.tobytes() for array in found] == [array.tobytes() for array in expected], way


def motions(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rotations, shape (n_frames, 3, 3), and translations, shape (n_frames, 1, 3), constant or not."""
    rng = np.random.default_rng(11)
    rotations, _ = np.linalg.qr(rng.normal(size=(N_FRAMES, 3, 3)))
    rotations *= np.linalg.det(rotations)[:, None, None]
    shifts = rng.uniform(-30, 30, (N_FRAMES, 1, 3))
    chosen = np.zeros(N_FRAMES, int) if kind == "all" else np.arange(N_FRAMES)
    return rotations[chosen], shifts[chosen]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.motion in ("each", "all")])
def test_rigid_motion_does_not_matter(name: str) -> None:
    case, positions = CASES[name], peptide_positions().astype(np.float64)
    rotations, shifts = motions(case.motion)
    unmoved = case.unmoved or case.renumbered
    expected, found = (
        unmoved(case.make(System(peptide(), in_memory(frames))).run())
        for frames in (positions, positions @ rotations + shifts)
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=case.tolerance)


@pytest.mark.parametrize("name", CASES)
def test_numbers_of_atoms_do_not_matter(name: str) -> None:
    case, positions = CASES[name], peptide_positions()
    order = np.random.default_rng(4).permutation(positions.shape[1])
    expected = case.renumbered(case.make(System(peptide(), in_memory(positions))).run())
    found = case.renumbered(case.make(System(peptide(order), in_memory(positions[:, order]))).run())
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-6)
