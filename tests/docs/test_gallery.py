"""The gallery: each script makes a picture, and each picture is in the index."""

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from architecture.checkout import ROOT

pytest.importorskip("sphinx")
pytest.importorskip("PIL")

GALLERY = ROOT / "docs" / "gallery"
SCRIPTS = sorted(GALLERY.glob("*.py"))
MOST_LINES = 15
FEWEST_COLOURS = 20


@pytest.fixture
def gallery(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The extension of Sphinx."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    monkeypatch.delitem(sys.modules, "gallery", raising=False)
    import gallery  # type: ignore[import-not-found]

    return gallery


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_makes_a_picture_that_is_not_empty(script: Path, gallery: ModuleType, tmp_path: Path) -> None:
    from PIL import Image

    gallery.draw(script, tmp_path / "picture.png")
    with Image.open(tmp_path / "picture.png") as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape[0] >= 250
    assert pixels.shape[1] >= 600
    height, width, _ = pixels.shape
    middle = pixels[height // 8 : -height // 6, width // 8 : -width // 8].reshape(-1, 3)
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) >= FEWEST_COLOURS
    is_coloured = np.ptp(middle.astype(np.int64), axis=1) > 30
    assert is_coloured.mean() > 0.002, "nothing is drawn in the axes"


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
