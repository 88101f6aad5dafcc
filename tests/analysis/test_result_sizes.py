"""Tests that every analysis refuses results that are larger than the memory, before it allocates them."""

from collections.abc import Callable
from pathlib import Path

import pytest

import mdreel
from analysis_case import everything
from every_analysis import CASES
from mdreel.foundation import size_check, usable_memory
from peptide_system import System, peptide, write_peptide

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
FEW, MANY = 10, 20
REFUSED = r"need .* but this machine has .* of memory"
FOUND_IN_THE_FRAMES = {
    "AnalysisBase": "the class of a user allocates its own results",
    "HydrogenBondAnalysis": "the number of bonds is known after the run",
    "HydrogenBondAnalysis, selected again": "the number of bonds is known after the run",
    "WaterBridgeAnalysis": "the number of bonds is known after the run",
    "WaterBridgeAnalysis, selected again": "the number of bonds is known after the run",
    "InteractionFingerprint": "the number of interactions is known after the run",
    "OnlineClustering": "the number of clusters is known after the run",
    "ResidueContacts": "the number of contacts is known after the run",
    "ResidueContacts, of two groups": "the number of contacts is known after the run",
    "NativeContacts": "most of the results are the contacts of the reference",
    "SurvivalProbability": "the number of selected atoms is known after the run",
    "SurvivalProbability, of residues": "the number of selected atoms is known after the run",
    "WaterOrientationalRelaxation": "the number of selected molecules is known after the run",
    "Selection": "the number of selected atoms is known after the run",
}


@pytest.fixture(scope="module")
def trajectory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sizes") / "peptide.xtc"
    write_peptide(path, MANY)
    return path


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Limit the memory."""

    def limit(n_bytes: int) -> None:
        monkeypatch.setattr(size_check, "usable_memory", lambda: n_bytes)

    return limit


def n_bytes(name: str, trajectory: Path, stop: int) -> int:
    found = everything(CASES[name].make(System(peptide(), trajectory)).run(stop=stop, backend="serial"))
    return sum(array.nbytes for array in found)


@pytest.mark.parametrize("name", sorted(set(CASES) - set(FOUND_IN_THE_FRAMES)))
def test_results_that_grow_with_the_frames_are_refused(
    name: str, trajectory: Path, give: Callable[[int], None]
) -> None:
    few, many = (n_bytes(name, trajectory, stop) for stop in (FEW, MANY))
    if few == many:
        pytest.skip("the results do not grow with the number of frames")
    give(int(0.9 * many))
    with pytest.raises(mdreel.errors.MismatchError, match=REFUSED):
        CASES[name].make(System(peptide(), trajectory)).run(stop=MANY, backend="serial")


@pytest.mark.parametrize(
    "name",
    [
        "PCA",
        "CrossCorrelation",
        "HierarchicalClustering",
        "DistanceArray, statistics",
        "DistanceMatrix",
        "InterRDF_s",
        "HelixEigenvalues",
        "DensityAnalysis",
    ],
)
def test_arrays_over_pairs_are_refused(name: str, trajectory: Path, give: Callable[[int], None]) -> None:
    give(300)
    with pytest.raises(mdreel.errors.MismatchError, match=REFUSED):
        CASES[name].make(System(peptide(), trajectory)).run(stop=FEW, backend="serial")


def test_memory_is_that_of_the_machine_or_a_smaller_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY,) * 2)
    monkeypatch.setattr(usable_memory, "_GROUP_LIMITS", ())
    information = tmp_path / "meminfo"
    information.write_text("MemTotal:  400 kB\nMemFree:  10 kB\nMemAvailable:  100 kB\nSwapFree:  20 kB\n")
    monkeypatch.setattr(usable_memory, "_INFORMATION", information)
    assert usable_memory.usable_memory() == 120 * 1024
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(usable_memory, "_GROUP_LIMITS", (limit, tmp_path / "none"))
    for text, expected in (("max", 120 * 1024), ("5000\n", 5000), ("999999", 120 * 1024)):
        limit.write_text(text)
        assert usable_memory.usable_memory() == expected
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (3000, 3000))
    assert usable_memory.usable_memory() == 3000
    monkeypatch.setattr(usable_memory, "_INFORMATION", tmp_path / "none")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY,) * 2)
    assert usable_memory.usable_memory() == 999999
