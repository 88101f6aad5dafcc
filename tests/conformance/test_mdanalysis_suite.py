"""MDAnalysis's own tests of its readers, run on ours."""

from typing import Any

import pytest

from conformance.accelerated_suite import DESELECTED
from conformance.foreign_suite import run_modules

# The readers that each module tests, and how often at least they show a frame.
MODULES = {
    "test_xdr": {"XTCReader": 100, "TRRReader": 100},
    "test_dcd": {"DCDReader": 100},
    "test_netcdf": {"NCDFReader": 100},
    "test_h5md": {"H5MDReader": 100},
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """How the tests of all modules went, in one process; what they printed is in ``text``."""
    modules = [f"coordinates.{module}" for module in MODULES]
    return run_modules(modules, "conformance.accelerated_suite", tmp_path_factory.mktemp("suite"))


def test_modules_of_mdanalysis_pass_on_our_readers(report: dict[str, Any]) -> None:
    assert report["code"] == 0, report["text"][-6000:]
    assert "failed" not in report["outcomes"]
    assert {module: report["passed"].get(module, 0) > 50 for module in MODULES} == dict.fromkeys(MODULES, True)


@pytest.mark.parametrize("module", MODULES)
def test_module_of_mdanalysis_was_run_on_our_readers(module: str, report: dict[str, Any]) -> None:
    for reader, least in MODULES[module].items():
        assert report["counted"].get(reader, 0) >= least


@pytest.mark.parametrize("module", MODULES)
def test_tests_that_are_left_out_are_there_and_have_a_reason(module: str, report: dict[str, Any]) -> None:
    listed = DESELECTED.of(module)
    left_out = {name for name in report["left out"].values() if name.startswith(f"{module}.py::")}
    assert sorted(left_out) == sorted(listed)
    assert all(len(DESELECTED.reasons[name]) > 20 for name in listed)


def test_tests_that_are_left_out_are_few() -> None:
    assert sorted(name for module in MODULES for name in DESELECTED.of(module)) == sorted(DESELECTED.reasons)
    assert len(DESELECTED.reasons) <= 20
