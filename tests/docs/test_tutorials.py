"""The tutorials: each runs as a notebook, without an error, as it does when the site is built."""

import os
import time
from pathlib import Path

import pytest

from architecture.checkout import ROOT

pytest.importorskip("myst_nb")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

TUTORIALS = sorted(path for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.stem != "index")
NEEDS = {"live-simulation": "openmm", "markov-model": "scipy"}
LIMIT = 180.0
"""Seconds of one tutorial; three minutes are promised on two cores that do nothing else."""


def test_there_are_four_tutorials() -> None:
    assert len(TUTORIALS) == 4


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from myst_nb.core.read import read_myst_markdown_notebook
    from myst_parser.config.main import MdParserConfig
    from nbclient import NotebookClient

    if page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
    config = MdParserConfig()
    text = page.read_text(encoding="utf-8")
    notebook = read_myst_markdown_notebook(text, config, add_source_map=False, path=page)
    assert sum(cell.cell_type == "code" for cell in notebook.cells) >= 5
    client = NotebookClient(notebook, timeout=LIMIT, kernel_name="python3", resources={"metadata": {"path": tmp_path}})
    begin = time.monotonic()
    client.execute()  # raises CellExecutionError with the traceback
    print(f"{page.stem}: {time.monotonic() - begin:.1f} s")
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    texts = [output.text for output in shown if output.output_type == "stream"]
    assert not [text for text in texts if "mdreel: error" in text or "Traceback" in text]
