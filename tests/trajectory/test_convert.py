"""Conversion: the frames and atoms asked for, from any format to any."""

from pathlib import Path

import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, DCD_TRICLINIC, PSF, XTC

from mdreel._core import FrameSet, Source
from mdreel.errors import FormatError, FrameIndexError, MismatchError, SelectionError, UnsupportedError
from mdreel.trajectory.convert import convert
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore:DCDReader currently makes independent timesteps:DeprecationWarning")


def everything(path: Path):
    source = open_trajectory(path, index="none")
    source.check_end()
    return source.read(FrameSet.range(0, 1, source.n_frames), np.arange(source.n_atoms, dtype=np.uint32))


def same(found, expected, places=slice(None), atoms=slice(None), atol=0.0) -> None:
    np.testing.assert_allclose(found.positions, expected.positions[places][:, atoms], rtol=0, atol=atol)
    np.testing.assert_allclose(found.times, expected.times[places], rtol=1e-6)
    np.testing.assert_array_equal(found.has_cell, expected.has_cell[places])


def test_dcd_of_a_dcd_has_the_same_bits(tmp_path: Path, adk_dcd: Path) -> None:
    convert(adk_dcd, tmp_path / "a.dcd")
    found, expected = everything(tmp_path / "a.dcd"), everything(adk_dcd)
    same(found, expected)
    np.testing.assert_array_equal(found.steps, expected.steps)


def test_dcd_keeps_triclinic_cells(tmp_path: Path) -> None:
    convert(DCD_TRICLINIC, tmp_path / "a.dcd")
    found, expected = everything(tmp_path / "a.dcd"), everything(Path(DCD_TRICLINIC))
    same(found, expected)
    np.testing.assert_array_max_ulp(found.dimensions, expected.dimensions, maxulp=1)


def test_xtc_of_a_dcd_and_back_is_rounded_once(tmp_path: Path, adk_dcd: Path) -> None:
    convert(adk_dcd, tmp_path / "a.xtc", precision=10_000)
    convert(tmp_path / "a.xtc", tmp_path / "b.dcd")
    convert(tmp_path / "b.dcd", tmp_path / "c.xtc", precision=10_000)
    same(everything(tmp_path / "b.dcd"), everything(adk_dcd), atol=0.0005 * 1.01)
    assert (tmp_path / "c.xtc").read_bytes() == (tmp_path / "a.xtc").read_bytes()


def test_all_atoms_of_xtc_are_copied_byte_by_byte(tmp_path: Path) -> None:
    written = convert(XTC, tmp_path / "a.xtc")
    assert (tmp_path / "a.xtc").read_bytes() == Path(XTC).read_bytes()
    assert (written.n_frames, written.n_atoms, written.n_bytes) == (10, 47681, Path(XTC).stat().st_size)
    assert written.timing.n_frames == 10
    convert(XTC, tmp_path / "b.xtc", frames=[3, 4, 5])
    same(everything(tmp_path / "b.xtc"), everything(Path(XTC)), slice(3, 6))


def test_precision_is_that_of_the_trajectory_unless_another_is_asked_for(tmp_path: Path, adk_dcd: Path) -> None:
    convert(adk_dcd, tmp_path / "fine.xtc", precision=100_000, stop=4)
    convert(tmp_path / "fine.xtc", tmp_path / "part.xtc", atoms=range(100))
    convert(adk_dcd, tmp_path / "usual.xtc", stop=2)
    found = [open_trajectory(tmp_path / name).describe()[0]["precision"] for name in ("part.xtc", "usual.xtc")]
    assert found == [100_000, 1000]


@pytest.mark.parametrize("ending", ["xtc", "dcd"])
@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ({"start": 5, "stop": 60, "step": 7}, np.arange(5, 60, 7)),
        ({"start": 10, "step": -1}, np.arange(10, -1, -1)),
        ({"frames": [4, 2, 2, 97]}, np.array([4, 2, 2, 97])),
        ({"frames": [-1]}, np.array([97])),
    ],
)
@pytest.mark.filterwarnings("ignore:.*the file will have a frame every:UserWarning")
def test_frames_are_those_asked_for_in_their_order(
    tmp_path: Path, adk_xtc: Path, wanted: dict, places: np.ndarray, ending: str
) -> None:
    written = convert(adk_xtc, tmp_path / f"a.{ending}", **wanted)
    found, expected = everything(tmp_path / f"a.{ending}"), everything(adk_xtc)
    np.testing.assert_allclose(found.positions, expected.positions[places], atol=1e-5)
    if ending == "xtc":
        np.testing.assert_array_equal(found.times, expected.times[places])
    else:
        np.testing.assert_allclose(found.times[:2], expected.times[places][:2], rtol=1e-6)
    assert written.n_frames == len(places)


def test_atoms_are_those_of_the_group_in_the_order_of_the_file(tmp_path: Path, adk_dcd: Path) -> None:
    import MDAnalysis as mda

    group = mda.Universe(PSF, str(adk_dcd)).select_atoms("name CA")
    for i, atoms in enumerate((group, group[::-1] + group[:5], group.ix)):
        convert(adk_dcd, tmp_path / f"{i}.dcd", atoms=atoms, stop=5)
        same(everything(tmp_path / f"{i}.dcd"), everything(adk_dcd), slice(5), group.ix)


@pytest.mark.parametrize("ending", ["xtc", "dcd"])
def test_file_has_the_same_bytes_for_any_number_of_workers(tmp_path: Path, adk_dcd: Path, ending: str) -> None:
    wanted = {"frames": np.tile(np.arange(98), 3), "atoms": range(0, 3341, 3)}
    files = []
    for n_workers in (1, 2, 5):
        path = tmp_path / f"{n_workers}.{ending}"
        with pytest.warns(UserWarning, match="97 ps|98 ps|0 ps") if ending == "dcd" else _nothing():
            convert(adk_dcd, path, n_workers=n_workers, **wanted)
        files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]


def _nothing():
    from contextlib import nullcontext

    return nullcontext()


def test_times_that_a_format_cannot_hold_are_warned_of(tmp_path: Path, adk_xtc: Path) -> None:
    with pytest.warns(UserWarning, match=r"a\.dcd: .* every 1 ps, but in .*adk\.xtc 9 ps comes after 2 ps"):
        convert(adk_xtc, tmp_path / "a.dcd", frames=[0, 1, 2, 9, 10])


@pytest.mark.parametrize(
    "times", [[7.0], [0.0], [0.0, 0.0, 0.0], [-3.0, -2.0, -1.0], [5.0, 4.0, 3.0], [0.1, 10.1, 20.1]]
)
def test_times_of_any_kind_are_kept_by_dcd(tmp_path: Path, times: list[float]) -> None:
    source = Source.memory(np.zeros((len(times), 3, 3), np.float32), np.array(times))
    convert(source, tmp_path / "a.dcd")
    found = everything(tmp_path / "a.dcd").times
    if len(set(times)) == 1 < len(times):  # an interval of zero is taken for none by those who read it
        times = [times[0]]
    np.testing.assert_allclose(found[: len(times)], times, rtol=1e-6, atol=1e-6)


def test_cell_that_comes_later_is_refused_by_dcd(tmp_path: Path) -> None:
    dimensions = np.zeros((3, 6), np.float32)
    dimensions[2] = [10, 10, 10, 90, 90, 90]
    source = Source.memory(np.zeros((3, 3, 3), np.float32), np.arange(3.0), dimensions)
    with pytest.raises(MismatchError, match="frame 2: a unit cell, which the first frame lacks"):
        convert(source, tmp_path / "a.dcd")
    convert(source, tmp_path / "a.xtc")
    assert everything(tmp_path / "a.xtc").has_cell.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (UnsupportedError, r"one of \.xtc, \.dcd, \.trr, \.nc, \.h5md, \.h5$", {"output": "a.pdb"}),
        (UnsupportedError, "ending", {"output": "a"}),
        (MismatchError, "positive", {"precision": 0}),
        (MismatchError, "must be a number", {"precision": float("nan")}),
        (MismatchError, "DCD does not round", {"output": "a.dcd", "precision": 100}),
        (MismatchError, "no atom 3341: the trajectory has 3341 atoms", {"atoms": [0, 3341]}),
        (SelectionError, "ascend", {"atoms": [3, 3]}),
        (SelectionError, "ascend", {"atoms": [-1, 3]}),
        (SelectionError, "list of indices", {"atoms": []}),
        (MismatchError, "must be a whole number", {"atoms": [0.5]}),
        (FrameIndexError, "no frame is left", {"start": 98}),
        (FileNotFoundError, "missing", {"output": "missing/a.xtc"}),
        (FileNotFoundError, r"gone\.xtc", {"trajectory": "gone.xtc"}),
        (MismatchError, "n_workers must be at least 1", {"n_workers": 0}),
    ],
)
def test_wrong_arguments_are_refused(
    tmp_path: Path, adk_xtc: Path, error: type[Exception], message: str, arguments: dict
) -> None:
    output = tmp_path / arguments.pop("output", "a.xtc")
    with pytest.raises(error, match=message):
        convert(arguments.pop("trajectory", adk_xtc), output, **arguments)
    assert list(tmp_path.iterdir()) == []


def test_group_of_another_topology_is_refused(tmp_path: Path) -> None:
    import MDAnalysis as mda

    with pytest.raises(MismatchError, match="47681 atoms, the topology has 3341"):
        convert(XTC, tmp_path / "a.xtc", atoms=mda.Universe(PSF, DCD).atoms)


def test_torn_end_is_refused_unless_it_is_not_asked_for(tmp_path: Path, adk_xtc: Path) -> None:
    torn = tmp_path / "torn.xtc"
    torn.write_bytes(adk_xtc.read_bytes()[:-100])
    with pytest.raises(FormatError, match="97 whole frames"):
        convert(torn, tmp_path / "a.xtc")
    convert(torn, tmp_path / "a.xtc", stop=97)
    assert torn.read_bytes().startswith((tmp_path / "a.xtc").read_bytes())


def test_file_may_be_replaced_by_its_own_conversion(tmp_path: Path, adk_xtc: Path) -> None:
    path = tmp_path / "a.xtc"
    path.write_bytes(adk_xtc.read_bytes())
    convert(path, path, step=2, force=True)
    same(everything(path), everything(adk_xtc), slice(None, None, 2), atol=1e-5)
