"""HDF5 files that are wrong: an error that names the file, never a crash, never other numbers."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from h5md_writer import write_h5md
from mdreel._core import FrameSet, Source
from mdreel.errors import FormatError, MdreelError, UnsupportedError
from mdreel.trajectory.open import open as open_trajectory

N_FRAMES, N_ATOMS = 6, 20
POSITIONS = np.random.default_rng(3).normal(0, 9, (N_FRAMES, N_ATOMS, 3)).astype(np.float32)
LAYOUTS = {
    "contiguous": {},
    "filtered": {"chunks": (2, 8, 3), "compression": "gzip", "shuffle": True, "fletcher32": True},
}


def positions_of(source: Source) -> np.ndarray:
    everything = FrameSet.range(0, 1, source.n_frames)
    return source.read(everything, np.arange(source.n_atoms, dtype=np.uint32)).positions


@pytest.fixture(params=LAYOUTS)
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    box = np.full((N_FRAMES, 3), 30.0)
    return write_h5md(tmp_path / "run.h5md", {"position": POSITIONS}, layout=LAYOUTS[request.param], box=box)


def test_truncated_file_is_refused_wherever_it_ends(whole: Path) -> None:
    content = whole.read_bytes()
    torn = whole.with_name("torn.h5md")
    for end in [1, 7, 8, 50, *range(100, len(content), 211), len(content) - 1]:
        torn.write_bytes(content[:end])
        with pytest.raises(FormatError, match=r"torn\.h5md"):
            positions_of(open_trajectory(torn))


def test_changed_byte_is_refused_or_changes_no_structure(whole: Path) -> None:
    """Whatever byte is wrong, what is read has the right shape, or an error of ours says why not."""
    content = whole.read_bytes()
    changed = whole.with_name("changed.h5md")
    refused = []
    for at in range(0, len(content), 97):
        changed.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            source = open_trajectory(changed)
            if source.n_atoms * source.n_frames < 10_000:
                positions_of(source)
        except (MdreelError, MemoryError) as error:
            refused.append(str(error))
    assert len(refused) > 5
    assert all("changed.h5md" in message for message in refused)


def test_cut_chunk_names_frame_and_byte(whole: Path) -> None:
    source = open_trajectory(whole)
    with h5py.File(whole) as file:
        value = file["particles/atoms/position/value"]
        start = value.id.get_offset() or value.id.get_chunk_info(0).byte_offset
    with whole.open("r+b") as file:
        file.truncate(start + 10)
    with pytest.raises(FormatError, match=r"run\.h5md.*byte \d+: .*cut while being read|bytes up to"):
        positions_of(source)


def test_numbers_that_are_none_are_read_as_they_are(tmp_path: Path) -> None:
    wrong = POSITIONS.copy()
    wrong[2, 3] = [np.nan, np.inf, -np.inf]
    np.testing.assert_array_equal(
        positions_of(open_trajectory(write_h5md(tmp_path / "nan.h5md", {"position": wrong}))), wrong
    )


def change(path: Path, action: Callable[[h5py.File], object]) -> Path:
    with h5py.File(path, "a") as file:
        action(file)
    return path


def replace(name: str, data: np.ndarray, **options: object) -> Callable[[h5py.File], None]:
    def action(file: h5py.File) -> None:
        attributes = dict(file[name].attrs)
        del file[name]
        file.create_dataset(name, data=data, **options)
        file[name].attrs.update(attributes)

    return action


def remove(name: str) -> Callable[[h5py.File], None]:
    def action(file: h5py.File) -> None:
        del file[name]

    return action


ATOMS = "particles/atoms"
VALUE = f"{ATOMS}/position/value"
WRONG: dict[str, tuple[Callable[[h5py.File], object], type[MdreelError], str]] = {
    "no particles": (remove("particles"), FormatError, "expected the group /particles of H5MD, found h5md"),
    "no group": (remove(ATOMS), FormatError, "found none"),
    "no element": (remove(f"{ATOMS}/position"), FormatError, "expected position, velocity or force, found box"),
    "no value": (remove(VALUE), FormatError, "expected a dataset named value"),
    "flat": (replace(VALUE, POSITIONS[0]), FormatError, r"expected the shape \(n_frames, n_atoms, 3\), got \(20, 3\)"),
    "two columns": (replace(VALUE, POSITIONS[:, :, :2]), FormatError, r"got \(6, 20, 2\)"),
    "text": (replace(VALUE, np.full(POSITIONS.shape, b"1")), UnsupportedError, r"type \|S1 are not supported"),
    "half": (replace(VALUE, POSITIONS.astype("f2")), UnsupportedError, "float16 are not supported"),
    "szip": (
        replace(VALUE, POSITIONS.astype("i4"), chunks=(1, 20, 3), scaleoffset=0),
        UnsupportedError,
        "the filter scaleoffset is not supported",
    ),
    "fewer times": (
        replace(f"{ATOMS}/position/time", np.arange(5.0)),
        FormatError,
        r"expected the shape \(6,\), got \(5,\)",
    ),
    "fewer steps": (
        replace(f"{ATOMS}/position/step", np.arange(5)),
        FormatError,
        r"expected the shape \(6,\), got \(5,\)",
    ),
    "no unit": (lambda file: file[VALUE].attrs.__delitem__("unit"), UnsupportedError, "no attribute unit"),
    "unknown unit": (lambda file: file[VALUE].attrs.__setitem__("unit", "ell"), UnsupportedError, "'ell' is unknown"),
    "box of two": (
        lambda file: file[f"{ATOMS}/box"].attrs.__setitem__("dimension", 2),
        UnsupportedError,
        "2 dimensions: three are supported",
    ),
    "box of four edges": (replace(f"{ATOMS}/box/edges/value", np.ones((6, 4))), FormatError, r"got \(6, 4\)"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_structure_says_what_was_expected(whole: Path, what: str) -> None:
    action, kind, said = WRONG[what]
    with pytest.raises(kind, match=said) as caught:
        open_trajectory(change(whole, action))
    assert str(whole) in str(caught.value)


def test_absurd_shapes_are_refused_before_memory_is_taken(whole: Path) -> None:
    def stretch(file: h5py.File) -> None:
        del file[VALUE]
        value = file.create_dataset(VALUE, (10**12, 10**6, 3), "f4", chunks=(1, 100, 3))
        value.attrs["unit"] = "nm"

    with pytest.raises(FormatError, match=r"the file of .* bytes is too small for the shape"):
        open_trajectory(change(whole, stretch))


def test_hdf5_of_something_else_says_what_was_found(tmp_path: Path) -> None:
    path = tmp_path / "other.h5"
    with h5py.File(path, "w") as file:
        file["results"] = [1, 2]
    with pytest.raises(FormatError, match=r"other\.h5: expected the group /particles of H5MD, found results"):
        open_trajectory(path)


def test_without_h5py_the_error_names_what_to_install(whole: Path) -> None:
    program = (
        "import sys; sys.modules['h5py'] = None\n"
        "from mdreel.trajectory.open import open as open_trajectory\n"
        "from mdreel.errors import UnsupportedError\n"
        "try: open_trajectory(sys.argv[1])\n"
        "except UnsupportedError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, whole], capture_output=True, text=True, check=True)
    assert "needs h5py: pip install 'mdreel[hdf5]'" in done.stdout


def test_format_that_is_asked_for_must_be_that_of_the_file(adk_xtc: Path) -> None:
    with pytest.raises(FormatError, match="expected an HDF5 file"):
        open_trajectory(adk_xtc, format="H5MD")
