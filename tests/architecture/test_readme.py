"""The README does what it says: its Python runs, its command lines run."""

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import matplotlib as mpl
import numpy as np
import pytest

from architecture.checkout import ROOT


def readme_blocks(section: str, language: str = "") -> list[str]:
    """The blocks of code of a section, in order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def load_example() -> ModuleType:
    specification = importlib.util.spec_from_file_location("adk", ROOT / "examples" / "adk.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore:DCDReader currently makes independent timesteps:DeprecationWarning")
def test_python_of_the_readme_gives_the_rmsd_of_every_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = readme_blocks("Python", "python")
    assert len(code.splitlines()) <= 10
    names: dict[str, object] = {}
    with mpl.rc_context({"backend": "agg"}):
        exec(compile(code, "README.md", "exec"), names)
    rmsd = names["run"].results.rmsd  # type: ignore[attr-defined]
    assert (tmp_path / "rmsd.png").read_bytes().startswith(b"\x89PNG")
    assert rmsd.shape == (98, 3)
    assert np.all(rmsd[1:, 2] > 0)


def test_command_lines_of_the_readme_work_as_written(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    load_example().make_trajectories(tmp_path / "demo")
    (block,) = readme_blocks("Command line", "sh")
    for line in block.splitlines():
        program, *arguments = shlex.split(line)
        assert program == ".venv/bin/mdreel"
        command = [Path(sys.executable).parent / "mdreel", *arguments]
        answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr
    assert len((tmp_path / "rmsd.csv").read_text(encoding="utf-8").splitlines()) >= 98
    assert (tmp_path / "rmsd.png").read_bytes().startswith(b"\x89PNG")
