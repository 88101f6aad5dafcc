"""The generator of a new analysis writes one that runs, and that the tests of every analysis accept."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mdreel
from architecture.checkout import ROOT

sys.path.insert(0, str(ROOT))
from tasks.new_analysis import new_analysis
from tasks.output import TaskError


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package that is installed, and of the tests that a new analysis needs."""
    root = tmp_path_factory.mktemp("checkout")
    shutil.copytree(
        Path(mdreel.__file__).parent, root / "python" / "mdreel", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(ROOT / "tests", root / "tests", ignore=shutil.ignore_patterns("__pycache__", "live", "golden"))
    shutil.copy(ROOT / "pyproject.toml", root)
    new_analysis("HelixTilt", "Tilt of a helix in each frame.", root)
    return root


def run(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(root / "python")}
    return subprocess.run(
        [sys.executable, *words], cwd=root, env=environment, capture_output=True, text=True, check=False
    )


def test_generated_analysis_passes_its_test_and_those_of_every_analysis(root: Path) -> None:
    tests = ("tests/analysis/test_helix_tilt.py", "tests/analysis/test_laws.py")
    answer = run(root, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", "HelixTilt or helix_tilt")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "HelixTilt" in run(root, "-c", "import mdreel; print(mdreel.HelixTilt)").stdout


def test_generated_command_is_listed_and_has_help(root: Path) -> None:
    listing = run(root, "-m", "mdreel.cli", "--help").stdout
    assert "helix-tilt" in listing
    assert "Tilt of a helix in each frame." in listing
    assert "Tilt of a helix in each frame." in run(root, "-m", "mdreel.cli", "helix-tilt", "--help").stdout


def test_generated_files_are_in_the_style_of_the_project(root: Path) -> None:
    written = [*root.glob("**/helix_tilt.py"), root / "tests/analysis/test_helix_tilt.py"]
    lists = [
        root / "python/mdreel/__init__.pyi",
        root / "python/mdreel/cli/commands.py",
        root / "tests/every_analysis.py",
    ]
    for command in (("check",), ("format", "--check")):
        answer = run(root, "-m", "ruff", *command, *map(str, written + lists))
        assert answer.returncode == 0, answer.stdout + answer.stderr


def test_generator_refuses_a_name_that_exists_or_is_no_class_name(root: Path) -> None:
    with pytest.raises(TaskError, match="exists"):
        new_analysis("HelixTilt", "Again.", root)
    with pytest.raises(TaskError, match="no class name"):
        new_analysis("helix tilt", "Again.", root)
