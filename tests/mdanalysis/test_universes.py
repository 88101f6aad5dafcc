"""Universes on our readers do what they do on MDAnalysis's."""

from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
from MDAnalysis import transformations
from MDAnalysis.analysis import rms
from MDAnalysisTests import datafiles

import mdreel
from mdanalysis.recorded_frames import check_same, recorded
from mdreel.errors import FormatError
from mdreel.mdanalysis.reader import CoreReader

pytestmark = pytest.mark.filterwarnings(
    "ignore:DCDReader currently makes independent timesteps:DeprecationWarning",
    "ignore:Reader has no dt information:UserWarning",
    "ignore:ATOMIC_NUMBER record not found:UserWarning",
)
SYSTEMS = {
    "XTC": (datafiles.GRO, datafiles.XTC),
    "TRR": (datafiles.GRO, datafiles.TRR),
    "DCD": (datafiles.PSF, datafiles.DCD),
    "NCDF": (datafiles.PRMncdf, datafiles.NCDF),
    "H5MD": (datafiles.TPR_xvf, datafiles.H5MD_xvf),
}
Pair = tuple[mda.Universe, mda.Universe]


def both(*files: Any, **options: Any) -> Pair:
    """The same Universe on our reader and on MDAnalysis's."""
    with mdreel.mdanalysis.accelerate():
        ours = mda.Universe(*files, **options)
    return ours, mda.Universe(*files, **options)


@pytest.fixture(params=SYSTEMS)
def universes(request: pytest.FixtureRequest) -> Pair:
    ours, theirs = both(*SYSTEMS[request.param])
    assert isinstance(ours.trajectory, CoreReader)
    return ours, theirs


@pytest.fixture
def segments(tmp_path: Path, adk_positions: np.ndarray) -> list[str]:
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    paths = [str(tmp_path / f"{i}.xtc") for i in range(3)]
    for path, frames in zip(paths, (range(5), range(4, 7), range(6, 14)), strict=True):
        with XTCFile(path, "w") as file:
            for i in frames:
                file.write(adk_positions[i] / 10, np.eye(3, dtype=np.float32) * 10, i, float(i), 1000)
    return paths


@pytest.mark.parametrize("options", [{}, {"start": 1, "stop": 9, "step": 2}, {"stop": -1}], ids=str)
@pytest.mark.parametrize("atoms", [None, slice(3, 20, 4), [9, 2, 2, 5]], ids=str)
def test_timeseries_is_that_of_mdanalysis(universes: Pair, atoms: Any, options: dict[str, int]) -> None:
    series = []
    for universe in universes:
        universe.trajectory[1]
        atomgroup = None if atoms is None else universe.atoms[atoms]
        series.append(universe.trajectory.timeseries(atomgroup=atomgroup, **options))
    ours, theirs = series
    np.testing.assert_array_equal(ours, theirs)
    assert ours.dtype == theirs.dtype
    assert universes[0].trajectory.frame == universes[1].trajectory.frame


def test_timeseries_goes_backwards(universes: Pair) -> None:
    # MDAnalysis 2.11 leaves the array as it was allocated.
    ours, theirs = universes
    expected = [ts.positions[:5].copy() for ts in theirs.trajectory]
    series = ours.trajectory.timeseries(atomgroup=ours.atoms[:5], step=-1, order="fac")
    np.testing.assert_array_equal(series, expected[::-1])


@pytest.mark.parametrize("order", ["fac", "fca", "afc", "acf", "caf", "cfa"])
def test_timeseries_has_its_axes_in_the_order_asked_for(universes: Pair, order: str) -> None:
    ours, theirs = (u.trajectory.timeseries(atomgroup=u.atoms[:4], order=order) for u in universes)
    np.testing.assert_array_equal(ours, theirs)


def test_timeseries_refuses_what_mdanalysis_refuses(universes: Pair) -> None:
    for universe in universes:
        with pytest.raises(ValueError, match="at least one atom"):
            universe.trajectory.timeseries(atomgroup=universe.atoms[[]])
        with pytest.raises(ValueError, match=r"order"):
            universe.trajectory.timeseries(order="faf")


@pytest.mark.parametrize("options", [{}, {"start": 1, "stop": 9, "step": 2}], ids=str)
def test_trajectory_goes_into_memory(universes: Pair, options: dict[str, int]) -> None:
    for universe in universes:
        universe.transfer_to_memory(**options)
    ours, theirs = (universe.trajectory for universe in universes)
    assert len(ours) == len(theirs) > 0
    check_same([recorded(ts) for ts in ours], [recorded(ts) for ts in theirs])


def test_transformations_are_applied(universes: Pair) -> None:
    for universe in universes:
        universe.trajectory.add_transformations(transformations.translate([1, 2, 3]))
    ours, theirs = universes
    for _ in range(2):
        check_same([recorded(ts) for ts in ours.trajectory], [recorded(ts) for ts in theirs.trajectory])
    series = [universe.trajectory.timeseries(atomgroup=universe.atoms[:2]) for universe in universes]
    np.testing.assert_array_equal(*series)


def test_auxiliary_data_come_along(tmp_path: Path) -> None:
    (tmp_path / "pull.xvg").write_text("".join(f"{50 * i} {i}.5\n" for i in range(20)))
    found = []
    for universe in both(datafiles.GRO, datafiles.XTC):
        trajectory = universe.trajectory
        trajectory.add_auxiliary("pull", str(tmp_path / "pull.xvg"))
        shown = [ts.aux.pull.copy() for ts in trajectory] + [trajectory[7].aux.pull.copy()]
        shown += [ts.aux.pull.copy() for ts in trajectory[[5, 2]]]
        shown += [ts.time for ts in trajectory.iter_as_aux("pull")]
        copied = trajectory.copy()
        found.append([*shown, copied[3].aux.pull.copy()])
        copied.close()
    assert len(found[0]) == 10 + 1 + 2 + 10 + 1
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("is_continuous", "n_frames"), [(False, 16), (True, 14)])
def test_chain_is_made_of_our_readers(segments: list[str], is_continuous: bool, n_frames: int) -> None:
    ours, theirs = both(datafiles.PSF, segments, continuous=is_continuous)
    assert all(isinstance(reader, CoreReader) for reader in ours.trajectory.readers)
    assert ours.trajectory.n_frames == n_frames
    for frames in (slice(None), slice(None, None, -3), [13, 0, 6, 5]):
        chosen = ([recorded(ts) for ts in universe.trajectory[frames]] for universe in (ours, theirs))
        check_same(*chosen)


def test_analysis_in_processes_gives_the_bits_of_one_in_series() -> None:
    results = []
    for universe in both(datafiles.PSF, datafiles.DCD):
        for options in ({}, {"backend": "multiprocessing", "n_workers": 2}):
            analysis = rms.RMSD(universe, select="name CA").run(stop=30, **options)
            results.append(analysis.results.rmsd)
    assert results[0].shape == (30, 3)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_universe_is_copied_with_its_reader(universes: Pair) -> None:
    ours, theirs = (universe.copy() for universe in universes)
    assert isinstance(ours.trajectory, CoreReader)
    check_same([recorded(ts) for ts in ours.trajectory], [recorded(ts) for ts in theirs.trajectory])


def damaged_xtc(path: Path, source: str, frame: int) -> None:
    """A copy in which the coordinates of a frame say that more bits are to come than there are."""
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    with XTCFile(source) as file:
        at = int(file.offsets[frame])
    whole = bytearray(Path(source).read_bytes())
    whole[at + 92 : at + 4000] = b"\xff" * (4000 - 92)
    path.write_bytes(whole)


def test_damaged_frame_is_an_error_and_not_the_end(tmp_path: Path) -> None:
    damaged_xtc(tmp_path / "damaged.xtc", datafiles.XTC, 6)
    with mdreel.mdanalysis.accelerate():
        universe = mda.Universe(datafiles.GRO, str(tmp_path / "damaged.xtc"))
    whole = mda.Universe(datafiles.GRO, datafiles.XTC)
    assert universe.trajectory.n_frames == 10
    seen = 0
    with pytest.raises(FormatError, match="frame 6"):
        for ts in universe.trajectory:
            check_same([recorded(ts)], [recorded(whole.trajectory[ts.frame])])
            seen += 1
    assert seen == 6
    check_same([recorded(universe.trajectory[7])], [recorded(whole.trajectory[7])])


def test_analysis_of_mdreel_takes_an_accelerated_universe(universes: Pair) -> None:
    results = [mdreel.RMSD(universe.atoms[:20]).run().results.rmsd for universe in universes]
    np.testing.assert_array_equal(*results)
