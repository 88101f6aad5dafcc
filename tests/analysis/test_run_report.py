"""Report pages of runs in Python: what was computed, with which call, and a plot of each analysis."""

import re
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from html_page import Page
from mdreel.analysis.base.python_call import python_call
from mdreel.analysis.base.run_description import atoms_text, frames_text
from mdreel.errors import UnsupportedError
from mdreel.foundation.formatting import SECONDS, amount

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def universe() -> mda.Universe:
    return mda.Universe(PSF, DCD)


def page_of(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def test_report_shows_call_input_and_plot(universe: mda.Universe, tmp_path: Path) -> None:
    rmsd = mdreel.RMSD(universe.select_atoms("name CA")).run(step=10, n_workers=2)
    assert rmsd.report(tmp_path / "run.html") == tmp_path / "run.html"
    page = page_of(tmp_path / "run.html")
    for said in ("RMSD(...).run(step=10, n_workers=2)", "214 atoms: CA of 214 residues", str(DCD), str(PSF)):
        assert said in page.said
    assert "10 frames, 0 to 90 in steps of 10 (1 to 91 ps)" in page.said
    assert [attributes["alt"] for tag, attributes in page.elements if tag == "img"] == ["Plot of RMSD, 214 atoms"]
    assert amount(rmsd.timing.run_seconds, SECONDS) in page.said


def test_report_of_a_pass_shows_the_other_analyses(universe: mda.Universe, tmp_path: Path) -> None:
    protein = universe.select_atoms("protein")
    first, *others = mdreel.run([mdreel.RMSD(protein), mdreel.Rg(protein)], step=20)
    first.report(tmp_path / "run.html", others=others)
    page = page_of(tmp_path / "run.html")
    assert "mdreel.run([RMSD(...), Rg(...)], step=20)" in page.said
    assert len([tag for tag, _ in page.elements if tag == "img"]) == 2


def test_report_of_an_own_analysis_without_a_plot_says_so(universe: mda.Universe, tmp_path: Path) -> None:
    class Own(mdreel.AnalysisBase):  # type: ignore[misc]
        def _prepare(self) -> None:
            self.results.masses = np.zeros(self.n_frames)

        def _single_frame(self) -> None:
            self.results.masses[self._frame_index] = self._ts.n_atoms

        def draw(self, title: str, ax: object) -> object:
            raise ValueError(HOSTILE)

    Own(universe.select_atoms("name CA")).run(step=50).report(tmp_path / "run.html")
    page = page_of(tmp_path / "run.html")
    assert f"There is no plot: {HOSTILE}." in page.said
    assert HOSTILE not in page.text


def test_report_needs_results_and_replaces_a_file_only_with_force(universe: mda.Universe, tmp_path: Path) -> None:
    rmsd = mdreel.RMSD(universe.select_atoms("name CA"))
    with pytest.raises(AttributeError, match="call run"):
        rmsd.report(tmp_path / "run.html")
    rmsd.run(step=50)
    with pytest.raises(UnsupportedError, match=r"\.html, \.htm"):
        rmsd.report(tmp_path / "run.pdf")
    (tmp_path / "run.html").write_text("before")
    with pytest.raises(FileExistsError):
        rmsd.report(tmp_path / "run.html")
    rmsd.report(tmp_path / "run.html", force=True)
    assert page_of(tmp_path / "run.html").said


def test_same_results_have_the_same_picture(universe: mda.Universe, tmp_path: Path) -> None:
    rmsd = mdreel.RMSD(universe.select_atoms("name CA")).run(step=10)
    texts = [rmsd.report(tmp_path / name).read_text(encoding="utf-8") for name in ("a.html", "b.html")]
    first, second = (re.findall(r"data:image[^\"]+", text) for text in texts)
    assert first == second != []


def test_call_names_what_is_not_a_default() -> None:
    settings = {"start": None, "frames": np.arange(300), "source": "https://a:b@c/d.xtc", "backend": object()}
    assert python_call([3], transformations=(), **settings) == (
        "int(...).run(frames=<array of 300>, source='https://...@c/d.xtc', backend=<object>)"
    )


def test_frames_are_described_in_words() -> None:
    assert frames_text(np.array([], np.int64), np.array([])) == "none"
    assert frames_text(np.array([7]), np.array([3.5])) == "1 frame, number 7 (3.5 ps)"
    assert frames_text(np.array([1, 2, 5]), np.array([1.0, 2.0, 5.0])) == "3 frames, 1 to 5 (1 to 5 ps)"


def test_atoms_are_described_in_words(universe: mda.Universe) -> None:
    assert atoms_text(universe.select_atoms("resid 1")) == "1 residue"
    assert atoms_text(universe.select_atoms("name CA CB and resid 1:3")) == "CA, CB of 3 residues"
    assert atoms_text(universe.select_atoms("around 3 resid 1", updating=True)) == "around 3 resid 1"
    assert atoms_text(mda.Universe.empty(3).atoms) == "1 residue"
