"""MDAnalysis's own tests of its analyses, run on ours in their place."""

from typing import Any

import pytest

from conformance.drop_in_comparison import DIGITS, WORDS
from conformance.drop_in_suite import DESELECTED, REPLACED
from conformance.foreign_suite import run_modules

# The analyses that each module tests.
MODULES = {
    "test_rms": ["RMSD", "RMSF"],
    "test_align": ["AlignTraj", "AverageStructure"],
    "test_pca": ["PCA"],
    "test_rdf": ["InterRDF"],
    "test_rdf_s": ["InterRDF_s"],
    "test_contacts": ["Contacts"],
    "test_density": ["DensityAnalysis"],
    "test_dihedrals": ["Dihedral", "Ramachandran", "Janin"],
    "test_hydrogenbonds_analysis": ["HydrogenBondAnalysis"],
    "test_wbridge": ["WaterBridgeAnalysis"],
    "test_msd": ["EinsteinMSD"],
    "test_dssp": ["DSSP"],
    "test_lineardensity": ["LinearDensity"],
    "test_diffusionmap": ["DistanceMatrix"],
}
TESTS_THAT_MAY_BE_LEFT_OUT = 0.05


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """How the tests of all modules went, in one process; what they printed is in ``text``."""
    modules = [f"analysis.{module}" for module in MODULES]
    return run_modules(modules, "conformance.drop_in_suite", tmp_path_factory.mktemp("suite"))


def test_modules_of_mdanalysis_pass_on_our_analyses(report: dict[str, Any]) -> None:
    assert report["code"] == 0, report["text"][-6000:]
    assert "failed" not in report["outcomes"]
    assert sorted(report["passed"]) == sorted(MODULES)
    assert sorted(report["counted"]) == sorted(REPLACED)


def test_tests_that_are_left_out_are_there_and_have_a_reason(report: dict[str, Any]) -> None:
    assert sorted(set(report["left out"].values())) == sorted(DESELECTED.reasons)
    assert all(len(reason) > 20 for reason in DESELECTED.reasons.values())


def test_tests_that_compare_leniently_have_run_and_have_a_reason(report: dict[str, Any]) -> None:
    assert sorted(set(report["lenient"].values())) == sorted([*WORDS.reasons, *DIGITS.reasons])
    assert all(float(reason.partition(": ")[0]) <= 1e-3 for reason in DIGITS.reasons.values())


def test_tests_that_are_left_out_are_few(report: dict[str, Any]) -> None:
    n_passed, n_left_out = report["outcomes"]["passed"], len(report["left out"])
    assert n_left_out <= TESTS_THAT_MAY_BE_LEFT_OUT * (n_passed + n_left_out)


def test_every_analysis_has_its_module() -> None:
    assert sorted(name for names in MODULES.values() for name in names) == sorted(REPLACED)
