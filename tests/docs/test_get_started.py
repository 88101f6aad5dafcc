"""The first pages that a user reads: their commands and their Python run, and the extras are complete."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import matplotlib as mpl
import pytest

import mdreel
from architecture.checkout import ROOT

PAGES = ROOT / "docs" / "get-started"
NOT_FOR_USERS = {"test", "bench", "dev", "docs"}


def blocks(page: str, language: str) -> list[str]:
    """The blocks of code of a page in a language, in order."""
    text = (PAGES / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def shell(script: str, folder: Path) -> str:
    """Run a script with the mdreel of this environment; return what it prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    command = ["bash", "-ec", script]
    answer = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.mark.filterwarnings("ignore")
def test_tour_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = blocks("tour.md", "sh")
    head, sasa = blocks("tour.md", "console")
    command, _, output = head.partition("\n")
    assert shell(f"{first}\n{command.removeprefix('$ ')}", tmp_path) == output
    assert (tmp_path / "rmsd.png").read_bytes().startswith(b"\x89PNG")
    names = first.split("mdreel")[0]
    shell(f"{names}\n{sasa.splitlines()[0].removeprefix('$ ')} --stop 2", tmp_path)
    monkeypatch.chdir(tmp_path)
    variables: dict[str, object] = {}
    with mpl.rc_context({"backend": "agg"}):
        for code in blocks("tour.md", "python"):
            exec(compile(code, "tour.md", "exec"), variables)
    assert variables["run"].results.rmsd.shape == (98, 3)  # type: ignore[attr-defined]
    assert (tmp_path / "timing.jsonl").stat().st_size > 0


def test_installation_names_version_and_extras() -> None:
    text = (PAGES / "install.md").read_text(encoding="utf-8")
    assert f"mdreel-{mdreel.__version__}-cp311-abi3" in text
    assert f"$ mdreel --version\nmdreel {mdreel.__version__}\n" in text
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    table = text.split("\n## Extras\n")[1].split("\n## ")[0]
    named = {
        name
        for line in table.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert named == set(project["optional-dependencies"]) - NOT_FOR_USERS
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in text


def test_every_extra_that_a_text_tells_users_to_install_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wrong = [
        f"{path.relative_to(ROOT)}: {command}"
        for folder in ("docs", "python", "lab", "crates", "tasks")
        for ending in ("md", "py", "rs")
        for path in (ROOT / folder).rglob(f"*.{ending}")
        for command, extras in re.findall(r"((?:mdreel|pip install '\.)\[([a-z0-9,-]+)\])", path.read_text("utf-8"))
        if not set(extras.split(",")) <= set(project["optional-dependencies"])
    ]
    assert not wrong
