"""XTC files that we write have the bytes of the reference implementation."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from MDAnalysisTests.datafiles import XTC

from conformance.reference_xtc import HIGHEST_SMALL_INDEX, SHAPES, positions_of, small_index, write_reference
from mdreel._core import Source
from mdreel.errors import MismatchError
from mdreel.trajectory.convert import convert
from mdreel.trajectory.open import open as open_trajectory

BOX = np.diag(np.array([30, 40, 50], np.float32) * np.float32(0.1))
NUMBERS_OF_ATOMS = (1, 2, 8, 9, 10, 11, 30, 100, 1000, 3000)
PRECISIONS = (10, 100, 1000, 12345, 1_000_000)


def memory(positions: np.ndarray) -> Source:
    """Frames 2.5 ps apart in the cell of BOX."""
    n_frames = len(positions)
    dimensions = np.tile(np.array([30, 40, 50, 90, 90, 90], np.float32), (n_frames, 1))
    return Source.memory(positions, np.arange(n_frames) * 2.5, dimensions)


def both(folder: Path, positions: np.ndarray, precision: float) -> tuple[bytes, bytes]:
    """The same frames as we and as the reference write them."""
    ours, theirs = folder / "ours.xtc", folder / "theirs.xtc"
    convert(memory(positions), ours, precision=precision, force=True)
    write_reference(theirs, positions, BOX, precision)
    return ours.read_bytes(), theirs.read_bytes()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_frames_have_the_bytes_of_the_reference(tmp_path: Path, shape: str, precision: float) -> None:
    n_compared = 0
    for n_atoms in NUMBERS_OF_ATOMS:
        for seed in range(3):
            positions = positions_of(shape, n_atoms, 1, seed)
            if np.abs(positions).max() * 0.1 * precision > 2e9 and n_atoms > 9:
                with pytest.raises(MismatchError, match="lower the precision"):
                    convert(memory(positions), tmp_path / "far.xtc", precision=precision)
                continue
            ours, theirs = both(tmp_path, positions, precision)
            if small_index(theirs) <= HIGHEST_SMALL_INDEX:
                assert ours == theirs, f"{n_atoms} atoms"
                n_compared += 1
    assert n_compared >= 9  # those of few atoms at least


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_atoms=st.integers(10, 60),
    exponents=st.lists(st.floats(-3, 2), min_size=1, max_size=4),
    precision=st.sampled_from(PRECISIONS),
)
def test_frames_of_any_mixture_of_distances_have_the_bytes_of_the_reference(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n_atoms: int, exponents: list[float], precision: float
) -> None:
    random = np.random.default_rng(seed)
    scales = 10 ** random.choice(exponents, (n_atoms, 1))
    positions = np.cumsum(random.normal(0, 1, (1, n_atoms, 3)) * scales, axis=1).astype(np.float32)
    ours, theirs = both(tmp_path_factory.mktemp("mixture"), positions, precision)
    if small_index(theirs) <= HIGHEST_SMALL_INDEX:
        assert ours == theirs


def test_trajectory_has_the_bytes_of_the_reference_for_any_number_of_workers(tmp_path: Path) -> None:
    positions = positions_of("water", 600, 300, 0)
    write_reference(tmp_path / "theirs.xtc", positions, BOX, 1000)
    expected = (tmp_path / "theirs.xtc").read_bytes()
    for n_workers in (1, 2, 3, 7):
        ours = tmp_path / f"{n_workers}.xtc"
        convert(memory(positions), ours, n_workers=n_workers)
        assert ours.read_bytes() == expected


def test_file_has_the_bytes_that_the_writer_of_mdanalysis_writes(tmp_path: Path, adk_xtc: Path) -> None:
    import MDAnalysis as mda
    from MDAnalysisTests.datafiles import PSF

    theirs, ours = tmp_path / "theirs.xtc", tmp_path / "ours.xtc"
    universe = mda.Universe(PSF, str(adk_xtc))
    with mda.Writer(str(theirs), universe.atoms.n_atoms, precision=4) as writer:
        for _ in universe.trajectory:
            writer.write(universe.atoms)
    convert(adk_xtc, ours, precision=10_000)
    assert ours.read_bytes() == theirs.read_bytes()


def test_atoms_that_the_reference_cannot_read_back_are_read_back(tmp_path: Path) -> None:
    # No two neighbours closer than the radix of the small index 64.
    positions = np.random.default_rng(5).uniform(-3e4, 3e4, (40, 15, 3)).astype(np.float32)
    convert(memory(positions), tmp_path / "far.xtc", precision=100_000)
    assert small_index((tmp_path / "far.xtc").read_bytes()) > HIGHEST_SMALL_INDEX
    from mdreel._core import FrameSet

    found = open_trajectory(tmp_path / "far.xtc").read(FrameSet.range(0, 1, 40), np.arange(15, dtype=np.uint32))
    np.testing.assert_allclose(found.positions, positions, rtol=3e-7, atol=1e-4)


# --- GROMACS -------------------------------------------------------------------------------------------------------

needs_gromacs = pytest.mark.skipif(shutil.which("gmx") is None, reason="gmx is not installed")


def trjconv(folder: Path, source: Path, decimals: int) -> bytes:
    command = ["gmx", "-quiet", "-nobackup", "trjconv", "-f", source, "-o", "gmx.xtc", "-ndec", str(decimals)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return (folder / "gmx.xtc").read_bytes()


@needs_gromacs
@pytest.mark.parametrize(("decimals", "shape"), [(1, "water"), (3, "walk"), (3, "water"), (4, "negative")])
@pytest.mark.parametrize("n_atoms", [10, 11, 999])
def test_file_has_the_bytes_that_trjconv_writes(tmp_path: Path, decimals: int, shape: str, n_atoms: int) -> None:
    write_reference(tmp_path / "in.xtc", positions_of(shape, n_atoms, 3, 0), BOX, 10.0**decimals)
    convert(tmp_path / "in.xtc", tmp_path / "ours.xtc", precision=10**decimals)
    assert (tmp_path / "ours.xtc").read_bytes() == trjconv(tmp_path, tmp_path / "in.xtc", decimals)


@needs_gromacs
def test_coordinates_of_a_real_file_have_the_bytes_that_trjconv_writes(tmp_path: Path) -> None:
    """All but the box, which in one frame cannot be had back from Å in float32."""
    convert(XTC, tmp_path / "ours.xtc", precision=1000)
    ours, theirs = (tmp_path / "ours.xtc").read_bytes(), trjconv(tmp_path, Path(XTC), 3)
    assert len(ours) == len(theirs)
    different = np.flatnonzero(np.frombuffer(ours, np.uint8) != np.frombuffer(theirs, np.uint8))
    assert len(different) <= 9
