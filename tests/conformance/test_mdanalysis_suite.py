"""MDAnalysis's own tests of its readers, run on ours."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.accelerated_suite import deselected

# The readers that each module tests, and how often at least they show a frame.
MODULES = {
    "test_xdr": {"XTCReader": 100, "TRRReader": 100},
    "test_dcd": {"DCDReader": 100},
    "test_netcdf": {"NCDFReader": 100},
    "test_h5md": {"H5MDReader": 100},
}


def listed(module: str) -> list[str]:
    return [name for name in deselected() if name.startswith(f"{module}.py::")]


@pytest.fixture(scope="module", params=MODULES)
def module(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def result(module: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """How the tests of a module went; what they printed is in ``text``."""
    folder = tmp_path_factory.mktemp(module)
    report, configuration = folder / "report.json", folder / "pytest.ini"
    configuration.write_text("[pytest]\n")
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "conformance.accelerated_suite"]
    command = [sys.executable, "-m", "pytest", *options, "-c", str(configuration), "--rootdir", str(folder)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)]),
        "ACCELERATED_SUITE_REPORT": str(report),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    tests = ["--pyargs", f"MDAnalysisTests.coordinates.{module}"]
    answer = subprocess.run([*command, *tests], cwd=folder, env=environment, capture_output=True, text=True)
    assert report.exists(), answer.stdout[-3000:] + answer.stderr[-3000:]
    return {"text": answer.stdout, "code": answer.returncode, **json.loads(report.read_text())}


def test_module_of_mdanalysis_passes_on_our_readers(module: str, result: dict[str, Any]) -> None:
    assert result["code"] == 0, result["text"][-6000:]
    assert "failed" not in result["outcomes"]
    assert result["outcomes"]["passed"] > 50


def test_module_of_mdanalysis_was_run_on_our_readers(module: str, result: dict[str, Any]) -> None:
    for reader, least in MODULES[module].items():
        assert result["frames"].get(reader, 0) >= least


def test_tests_that_are_left_out_are_there_and_have_a_reason(module: str, result: dict[str, Any]) -> None:
    assert sorted(result["left out"]) == sorted(listed(module))
    assert all(len(deselected()[name]) > 20 for name in listed(module))


def test_tests_that_are_left_out_are_few() -> None:
    assert sorted(name for module in MODULES for name in listed(module)) == sorted(deselected())
    assert len(deselected()) <= 20
