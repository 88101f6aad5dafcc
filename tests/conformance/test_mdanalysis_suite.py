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


@pytest.fixture(scope="module", params=MODULES)
def module(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def result(module: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """How the tests of a module went; what they printed is in ``text``."""
    return run_modules([f"coordinates.{module}"], "conformance.accelerated_suite", tmp_path_factory.mktemp(module))


def test_module_of_mdanalysis_passes_on_our_readers(module: str, result: dict[str, Any]) -> None:
    assert result["code"] == 0, result["text"][-6000:]
    assert "failed" not in result["outcomes"]
    assert result["outcomes"]["passed"] > 50


def test_module_of_mdanalysis_was_run_on_our_readers(module: str, result: dict[str, Any]) -> None:
    for reader, least in MODULES[module].items():
        assert result["counted"].get(reader, 0) >= least


def test_tests_that_are_left_out_are_there_and_have_a_reason(module: str, result: dict[str, Any]) -> None:
    listed = DESELECTED.of(module)
    assert sorted(set(result["left out"].values())) == sorted(listed)
    assert all(len(DESELECTED.reasons[name]) > 20 for name in listed)


def test_tests_that_are_left_out_are_few() -> None:
    assert sorted(name for module in MODULES for name in DESELECTED.of(module)) == sorted(DESELECTED.reasons)
    assert len(DESELECTED.reasons) <= 20
