"""Formats that MDAnalysis reads for us: its frames, through every worker."""

import pickle
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests import datafiles

import mdreel
from mdreel._core import FrameSet
from mdreel.errors import FormatError, UnsupportedError
from mdreel.trajectory.mdanalysis_source import open_foreign
from mdreel.trajectory.open import open as open_trajectory
from mdreel.trajectory.universe import source_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
QUANTITIES = ("positions", "velocities", "forces")
FILES = {
    "TRZ": (datafiles.TRZ, 8184),
    "PDB": (datafiles.PDB_multiframe, None),
    "LAMMPSDUMP": (datafiles.LAMMPSDUMP, None),
    "XYZ": (datafiles.XYZ, None),
    "GRO": (datafiles.GRO_velocity, None),
    "TRJ": (datafiles.TRJ, 252),
    "DMS": (datafiles.DMS, None),
}


@pytest.mark.parametrize("format_", FILES)
def test_foreign_frames_are_those_of_mdanalysis(format_: str) -> None:
    from MDAnalysis.coordinates.core import get_reader_for

    path, n_atoms = FILES[format_]
    source = pickle.loads(pickle.dumps(open_trajectory(path, format=format_, n_atoms=n_atoms)))
    atoms = np.arange(0, source.n_atoms, 3, dtype=np.uint32)
    frames = source.read(FrameSet.range(0, 1, source.n_frames), atoms, QUANTITIES)
    options = {} if n_atoms is None else {"n_atoms": n_atoms}
    with get_reader_for(path, format_)(path, **options) as reader:
        assert source.n_frames == reader.n_frames
        for i, ts in enumerate(reader):
            for name in QUANTITIES:
                assert getattr(frames, f"has_{name}")[i] == getattr(ts, f"has_{name}")
                if getattr(ts, f"has_{name}"):
                    np.testing.assert_array_equal(getattr(frames, name)[i], getattr(ts, name)[atoms])
            assert frames.has_cell[i] == (ts.dimensions is not None)
            assert ts.dimensions is None or np.array_equal(frames.dimensions[i], ts.dimensions)
            assert frames.times[i] == ts.time
    np.testing.assert_array_equal(frames.times, source.times())


def test_foreign_source_gives_the_same_result_for_every_number_of_workers(adk_xtc: Path) -> None:
    atoms = MDAnalysis.Universe(datafiles.PSF).select_atoms("name CA")
    native = mdreel.RMSD(atoms, trajectory=adk_xtc).run(backend="serial").results.rmsd
    for n_workers in (1, 3):
        slow = mdreel.RMSD(atoms, trajectory=open_foreign(str(adk_xtc), "XTC")).run(n_workers=n_workers)
        np.testing.assert_array_equal(slow.results.rmsd, native)


def test_foreign_source_of_a_universe_keeps_its_options() -> None:
    universe = MDAnalysis.Universe(datafiles.TRZ_psf, datafiles.TRZ, dt=7.0)
    source = pickle.loads(pickle.dumps(source_of(universe)))
    np.testing.assert_array_equal(source.times(), [ts.time for ts in universe.trajectory])


def test_foreign_file_that_needs_the_number_of_atoms_says_so() -> None:
    with pytest.raises(UnsupportedError, match="give n_atoms="):
        open_trajectory(datafiles.TRZ, format="TRZ")


def test_foreign_file_that_is_wrong_says_what_mdanalysis_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_trajectory(tmp_path / "missing.xyz", format="XYZ")
    path = tmp_path / "wrong.xyz"
    path.write_text("three\n")
    with pytest.raises(FormatError, match=r"wrong\.xyz: MDAnalysis cannot read the file"):
        open_trajectory(path, format="XYZ")


def test_foreign_frame_that_is_wrong_is_named(tmp_path: Path) -> None:
    path = tmp_path / "torn.xyz"
    frame = "2\nframe\nC 1 2 3\nC 4 5 6\n"
    path.write_text(frame * 3)
    source = open_trajectory(path, format="XYZ")
    path.write_text(frame + frame.replace("4 5 6", "4 five 6") + frame)
    with pytest.raises(FormatError, match=r"torn\.xyz, frame 1: "):
        source.read(FrameSet.range(0, 1, 3), np.array([0], np.uint32))
