"""The import contracts of pyproject.toml fail when a module violates them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from architecture.checkout import ROOT

LAYERS, LAB, CYCLES = "Imports go down only", "mdreel never imports the lab", "No import cycles inside a room"
COMMAND_LINE = "Of the command line, only cli.live imports live"


def contracts(folder: Path) -> dict[str, bool]:
    """Run import-linter on a copy of the package; return whether each contract is kept."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "python"), str(folder / "lab")])}
    command = [sys.executable, "-c", code, "--no-cache"]
    answer = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    found = re.findall(r"^(.+) (KEPT|BROKEN)\b", answer.stdout, re.MULTILINE)
    assert found, answer.stdout + answer.stderr
    return {name: state == "KEPT" for name, state in found}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and of the lab, without the extension module."""
    folder = tmp_path_factory.mktemp("house")
    leave = shutil.ignore_patterns("*.so", "__pycache__", "benchmarks", "validation")
    for name in ("python", "lab"):
        shutil.copytree(ROOT / name, folder / name, ignore=leave)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_package_keeps_all_contracts(copy: Path) -> None:
    kept = contracts(copy)
    assert kept == dict.fromkeys((LAYERS, LAB, CYCLES, COMMAND_LINE), True)


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("python/mdreel/analysis/rmsd.py", "from mdreel.live.notices import notice", LAYERS),
        ("python/mdreel/execution/job.py", "from mdreel.trajectory import read", LAYERS),
        ("python/mdreel/results/results.py", "from mdreel.timing import timing", LAYERS),
        ("python/mdreel/cluster/batch_job.py", "from mdreel_lab import bench", LAB),
        ("python/mdreel/cli/analyses/rmsd.py", "from mdreel.live.notices import notice", COMMAND_LINE),
        ("python/mdreel/analysis/topology/radii.py", "from mdreel.analysis import sasa", CYCLES),
    ],
)
def test_violated_contract_is_broken(copy: Path, module: str, line: str, broken: str) -> None:
    path = copy / module
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\n{line}  # noqa\n", encoding="utf-8")
    try:
        assert broken in [name for name, is_kept in contracts(copy).items() if not is_kept]
    finally:
        path.write_text(text, encoding="utf-8")
