"""Chunks that suit a way of reading."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdreel.errors import MismatchError
from mdreel.trajectory.chunking import (
    BLOCK_BYTES,
    MOST_BLOCK_BYTES,
    Chunking,
    check_chunk,
    check_compression,
    choose_chunking,
    parse_chunk,
)


@given(
    access=st.sampled_from(["frames", "atoms", "both"]),
    n_frames=st.integers(1, 10**7),
    n_atoms=st.integers(1, 10**8),
    n_quantities=st.integers(1, 3),
)
def test_chunks_fit_into_the_trajectory_and_the_memory_of_a_worker(
    access: str, n_frames: int, n_atoms: int, n_quantities: int
) -> None:
    chosen = choose_chunking(access, n_frames, n_atoms, n_quantities)
    assert 1 <= chosen.frames <= n_frames
    assert 1 <= chosen.atoms <= n_atoms
    assert chosen.frames == 1 or chosen.frames * n_atoms * n_quantities * 12 <= BLOCK_BYTES
    assert 12 * chosen.frames * chosen.atoms <= 1 << 20 or chosen == Chunking(1, n_atoms)


@pytest.mark.parametrize(
    ("access", "n_frames", "n_atoms", "expected"),
    [
        ("frames", 50_000, 3341, (16, 3341)),
        ("atoms", 50_000, 3341, (512, 4)),
        ("both", 50_000, 3341, (64, 64)),
        ("frames", 2000, 47_681, (1, 47_681)),
        ("atoms", 2000, 47_681, (32, 64)),
        ("both", 2000, 47_681, (32, 128)),
        ("frames", 7, 3341, (7, 3341)),
        ("both", 7, 3341, (7, 512)),
        ("frames", 10**6, 10**7, (1, 10**7)),
    ],
)
def test_chunks_are_those_that_the_documentation_tells(
    access: str, n_frames: int, n_atoms: int, expected: tuple[int, int]
) -> None:
    assert choose_chunking(access, n_frames, n_atoms) == Chunking(*expected)


def test_unknown_access_is_refused() -> None:
    with pytest.raises(MismatchError, match="one of frames, atoms, both, not 'time'"):
        choose_chunking("time", 10, 10)


@pytest.mark.parametrize(("text", "expected"), [("64x3341", (64, 3341)), (" 1×1 ", (1, 1))])
def test_chunk_is_frames_by_atoms(text: str, expected: tuple[int, int]) -> None:
    assert parse_chunk(text) == expected


@pytest.mark.parametrize("text", ["", "64", "0x1", "1x0", "x", "-1x5", "1x2x3", "1.5x2", "1" * 20 + "x1"])
def test_text_that_is_no_chunk_is_refused(text: str) -> None:
    with pytest.raises(MismatchError, match="FRAMESxATOMS"):
        parse_chunk(text)


def test_chunk_larger_than_the_trajectory_is_all_of_it() -> None:
    assert check_chunk((1000, 1000), 10, 20, 1) == Chunking(10, 20)
    assert check_chunk((1, 10**9), 10, 10**9, 3) == Chunking(1, 10**9)


def test_chunk_that_takes_too_much_memory_is_refused_with_what_is_possible() -> None:
    most = MOST_BLOCK_BYTES // (12 * 1000)
    assert check_chunk((most, 1), 10**6, 1000, 1).frames == most
    with pytest.raises(MismatchError, match=f"need 256 MiB for each thread .* at most {most} frames"):
        check_chunk((most + 1, 1), 10**6, 1000, 1)
    with pytest.raises(MismatchError, match="at least 1 frame and 1 atom, not 0 and 5"):
        check_chunk((0, 5), 10, 10, 1)


def test_compression_is_none_or_a_level() -> None:
    assert check_compression("none", None) is None
    assert check_compression("gzip", None) == 4
    assert [check_compression("gzip", level) for level in (0, 9)] == [0, 9]
    for arguments, said in (
        (("lzf", None), "one of none, gzip"),
        (("gzip", 10), "0 to 9, not 10"),
        (("none", 3), "no c"),
    ):
        with pytest.raises(MismatchError, match=said):
            check_compression(*arguments)
