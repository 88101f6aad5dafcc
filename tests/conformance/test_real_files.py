"""Every XTC, TRR, DCD, NetCDF and H5MD file of MDAnalysisTests, read as MDAnalysis reads it: the same bits."""

from pathlib import Path

import MDAnalysisTests
import numpy as np
import pytest

from conformance.mdanalysis_oracle import differences, frames_of_mdanalysis, frames_of_mdreel
from mdreel._core import FrameSet
from mdreel.errors import FormatError
from mdreel.trajectory.check import check
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings(
    "ignore:DCDReader currently makes independent timesteps:DeprecationWarning",
    "ignore:NCDF trajectory does not contain `time` information:UserWarning",
    "ignore:Reader has no dt information:UserWarning",
)

DATA = Path(MDAnalysisTests.__file__).parent / "data"
EXTENSIONS = {".xtc", ".trr", ".dcd", ".nc", ".ncdf", ".ncrst", ".h5md"}
FILES = sorted(str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.suffix in EXTENSIONS)
REFUSED = {"empty.dcd": "the file is empty"}
# What a check reports of files that are as their writers left them, and of no damaged frame.
KNOWN_DEFECTS = {
    "Amber/bala.ncdf": {"time"},
    "Amber/tz2.truncoct.nc": {"time"},
    "adk_dims.dcd": {"frame count"},
    "coordinates/test.dcd": {"frame count"},
}
# What MDAnalysis refuses because of what stands beside the particles, which mdreel does not look at.
REFUSED_BY_MDANALYSIS = {"cu_malformed.h5md": "energy from observables"}


def test_search_for_files_finds_all_formats() -> None:
    assert {
        "adk_oplsaa.xtc",
        "adk_oplsaa.trr",
        "adk_dims.dcd",
        "Amber/bala.ncdf",
        "Amber/ace_tip3p.nc",
        "cobrotoxin.h5md",
        *REFUSED,
        *REFUSED_BY_MDANALYSIS,
    } <= set(FILES)
    assert len(FILES) >= 21


@pytest.mark.parametrize("name", [name for name in FILES if name not in {*REFUSED, *REFUSED_BY_MDANALYSIS}])
def test_file_has_the_bits_that_mdanalysis_reads(name: str) -> None:
    path = DATA / name
    ours, theirs = frames_of_mdreel(path), frames_of_mdanalysis(path)
    assert differences(ours, theirs) == {}
    assert len(ours.times) > 0


@pytest.mark.parametrize("name", [name for name in FILES if name not in REFUSED])
def test_no_frame_of_a_sound_file_is_taken_for_damaged(name: str) -> None:
    report = check(DATA / name)
    assert {defect.kind for defect in report.defects} == KNOWN_DEFECTS.get(name, set())
    source = open_trajectory(DATA / name)
    frames, atoms = FrameSet.range(0, 1, source.n_frames), np.arange(source.n_atoms, dtype=np.uint32)
    whole, tolerant = source.read(frames, atoms), source.with_on_error("skip").read(frames, atoms)
    assert report.n_frames == source.n_frames
    assert np.array_equal(whole.positions, tolerant.positions, equal_nan=True)
    few = source.with_on_error("stop").read(frames, atoms[::7])
    assert np.array_equal(few.positions, whole.positions[:, ::7], equal_nan=True)


@pytest.mark.parametrize("name", [name for name in FILES if name in REFUSED])
def test_file_without_frames_is_refused_with_a_reason(name: str) -> None:
    with pytest.raises(FormatError, match=REFUSED[name]):
        open_trajectory(DATA / name)


@pytest.mark.parametrize("name", REFUSED_BY_MDANALYSIS)
def test_file_that_mdanalysis_refuses_has_the_bits_of_its_well_formed_twin(name: str) -> None:
    path = DATA / name
    with pytest.raises(ValueError, match=REFUSED_BY_MDANALYSIS[name]):
        frames_of_mdanalysis(path)
    assert differences(frames_of_mdreel(path), frames_of_mdanalysis(DATA / name.replace("_malformed", ""))) == {}
