"""The gallery: its index, and its scripts. tests/docs/test_site.py looks at their pictures."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from architecture.checkout import ROOT

pytest.importorskip("sphinx")

GALLERY = ROOT / "docs" / "gallery"
SCRIPTS = sorted(GALLERY.glob("*.py"))
MOST_LINES = 15


@pytest.fixture
def gallery(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The extension of Sphinx."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    monkeypatch.delitem(sys.modules, "gallery", raising=False)
    import gallery  # type: ignore[import-not-found]

    return gallery


def test_index_names_each_script_once() -> None:
    text = (GALLERY / "index.md").read_text(encoding="utf-8")
    named = "\n".join(re.findall(r"^```\{gallery\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)).split()
    assert sorted(named) == [path.stem for path in SCRIPTS]
    assert len(SCRIPTS) >= 24


def test_scripts_are_short_and_have_a_title(gallery: ModuleType) -> None:
    for entry in gallery.entries(GALLERY):
        assert entry.title, entry.name
        assert entry.description, entry.name
        lines = [line for line in entry.code.splitlines() if line.strip() and not re.match("import |from ", line)]
        assert len(lines) <= MOST_LINES, f"{entry.name}: {len(lines)} lines"


def test_script_that_fails_leaves_no_picture(gallery: ModuleType, tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text('"""A title."""\n')
    with pytest.raises(FileNotFoundError, match=r"broken\.png"):
        gallery.draw(script, tmp_path / "picture.png")
    assert not (tmp_path / "picture.png").exists()
