"""The trial of a new user: each mistake gives one line that names the remedy. tests/docs runs the pages."""

import re
import shlex
import shutil
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest

import mdreel
from conformance.new_user import (
    ARGUMENTS,
    COMMON,
    DATA,
    LARGE,
    LEFT_OUT,
    MAKE,
    SELECTIONS,
    WARNED,
    Mistake,
    systems,
)
from conformance.new_user_commands import COMMANDS, files_of
from mdreel.cli.main import main
from mdreel.errors import MdreelError, MdreelWarning

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a file that exists already."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("")
    return tmp_path


def check_line(error: BaseException, remedy: str) -> None:
    """Check that an error is one of mdreel or of the system, and one line with the remedy."""
    assert isinstance(error, MdreelError | OSError | AttributeError), repr(error)
    assert "\n" not in str(error)
    assert re.search(remedy, str(error)), f"no remedy {remedy!r}: {error}"


@pytest.mark.parametrize("name", MAKE)
def test_mistake_with_any_analysis_gives_one_line_with_the_remedy(name: str, folder: Path) -> None:
    for mistake, (call, remedy) in COMMON.items():
        if (name, mistake) not in LEFT_OUT:
            with pytest.raises(Exception) as caught:
                call(name, MAKE[name], systems())
                pytest.fail(f"{mistake}: no error", pytrace=False)
            check_line(caught.value, remedy)


def test_every_analysis_is_tried() -> None:
    public = [name for name in mdreel.__all__ if isinstance(getattr(mdreel, name), type)]
    analyses = {name for name in public if hasattr(getattr(mdreel, name), "run")} - {"AnalysisBase"}
    executors = {name for name in analyses if hasattr(getattr(mdreel, name), "share")}
    assert analyses - executors <= set(MAKE)


@pytest.mark.parametrize("mistake", [*SELECTIONS, *ARGUMENTS, *DATA, *LARGE])
def test_mistake_gives_one_line_with_the_remedy(mistake: str, folder: Path) -> None:
    call, remedy = {**SELECTIONS, **ARGUMENTS, **DATA, **LARGE}[mistake]
    with pytest.raises(Exception) as caught:
        call(systems())
        pytest.fail("no error", pytrace=False)
    check_line(caught.value, remedy)
    if mistake in LARGE:
        assert re.search(r"this machine has .* of memory", str(caught.value))


@pytest.mark.parametrize("mistake", WARNED)
def test_doubtful_value_gives_a_warning_with_the_remedy(mistake: str) -> None:
    given: Mistake = WARNED[mistake]
    with pytest.warns(MdreelWarning, match=given[1]):
        given[0](systems())


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Path]:
    """A folder with the files that the pages name, for commands that run in this process."""
    files = files_of()
    for name, path in files.items():
        shutil.copyfile(path, folder / name)
    before = signal.getsignal(signal.SIGTERM)
    with warnings.catch_warnings(), mpl.rc_context({"backend": "agg"}):
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
        yield folder
    signal.signal(signal.SIGTERM, before)


def run(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a command in this process; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["mdreel", *words])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


PYTHON = re.compile(r"(?<![\w/])[a-z]\w*=(?!\d)|\b[a-z]+_[a-z_]+ must\b")
"""Parameters of Python in a message."""


@pytest.mark.parametrize("line", COMMANDS)
def test_mistake_in_a_command_gives_one_line_with_the_remedy(
    line: str, command_line: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, remedy = COMMANDS[line]
    assert run(shlex.split(line), monkeypatch) == code
    lines = [one for one in capsys.readouterr().err.splitlines() if not one.startswith("mdreel: warning: ")]
    assert len(lines) == 1, lines
    assert lines[0].startswith("mdreel: error: ")
    assert re.search(remedy, lines[0]), f"no remedy {remedy!r}: {lines[0]}"
    assert not PYTHON.search(lines[0]), lines[0]
