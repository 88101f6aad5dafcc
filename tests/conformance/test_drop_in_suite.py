"""MDAnalysis's own tests of its analyses, run on ours in their place."""

from typing import Any

import pytest

from conformance.drop_in_comparison import DIGITS, WORDS
from conformance.drop_in_suite import DESELECTED, REPLACED
from conformance.foreign_suite import run_module

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
    "test_msd": ["EinsteinMSD"],
    "test_dssp": ["DSSP"],
    "test_lineardensity": ["LinearDensity"],
    "test_diffusionmap": ["DistanceMatrix"],
}
TESTS_THAT_MAY_BE_LEFT_OUT = 0.05


@pytest.fixture(scope="module")
def reports() -> dict[str, dict[str, Any]]:
    """Reports of the modules that have been run."""
    return {}


@pytest.mark.parametrize("module", MODULES)
def test_module_of_mdanalysis_passes_on_our_analyses(
    module: str, reports: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp(module)
    report = reports[module] = run_module(f"analysis.{module}", "conformance.drop_in_suite", folder)
    assert report["code"] == 0, report["text"][-6000:]
    assert "failed" not in report["outcomes"]
    assert all(report["counted"].get(name, 0) > 0 for name in MODULES[module])


def test_tests_that_are_left_out_are_there_and_have_a_reason(reports: dict[str, dict[str, Any]]) -> None:
    assert sorted(reports) == sorted(MODULES), "run the whole file"
    lines = {line for report in reports.values() for line in report["left out"].values()}
    assert sorted(lines) == sorted(DESELECTED.reasons)
    assert all(len(reason) > 20 for reason in DESELECTED.reasons.values())


def test_tests_that_compare_leniently_have_run_and_have_a_reason(reports: dict[str, dict[str, Any]]) -> None:
    lines = {line for report in reports.values() for line in report["lenient"].values()}
    assert sorted(lines) == sorted([*WORDS.reasons, *DIGITS.reasons])
    assert all(float(reason.partition(": ")[0]) <= 1e-3 for reason in DIGITS.reasons.values())


def test_tests_that_are_left_out_are_few(reports: dict[str, dict[str, Any]]) -> None:
    passed = sum(report["outcomes"]["passed"] for report in reports.values())
    left_out = sum(len(report["left out"]) for report in reports.values())
    assert left_out <= TESTS_THAT_MAY_BE_LEFT_OUT * (passed + left_out)


def test_every_analysis_has_its_module() -> None:
    assert sorted(name for names in MODULES.values() for name in names) == sorted(REPLACED)
