"""Chunk shapes of H5MD files."""

import re
from dataclasses import dataclass
from math import sqrt

from mdreel.errors import MismatchError

ACCESSES = ("frames", "atoms", "both")
COMPRESSIONS = ("none", "gzip")
DEFAULT_LEVEL = 4

ATOM_BYTES = 12  # three float32
# A chunk of whole frames fits into the cache of 1 MiB that HDF5 has for each dataset: a library that reads frame after
# frame then decodes each chunk once.
FRAMES_CHUNK_BYTES = 1 << 20
# A chunk of few atoms: reading and decoding it takes a few hundred times the fixed cost of finding a chunk.
ATOMS_CHUNK_BYTES = 32 << 10
BOTH_CHUNK_BYTES = 48 << 10
MOST_FRAMES = 1 << 16  # 768 KiB for a single atom
# Memory of a worker that cuts chunks: it holds all atoms of the frames of a chunk.
BLOCK_BYTES = 32 << 20
MOST_BLOCK_BYTES = 256 << 20


@dataclass(frozen=True)
class Chunking:
    """Chunk shape and compression of an H5MD file.

    Attributes
    ----------
    frames, atoms : int
        Numbers of frames and atoms in each chunk.
    level : int or None
        Compression level of gzip, from 0 to 9. Before the compression, the shuffle filter of HDF5 is applied. If None,
        the chunks are not compressed.
    """

    frames: int
    atoms: int
    level: int | None = None


def choose_chunking(access: str, n_frames: int, n_atoms: int, n_quantities: int = 1) -> Chunking:
    """Choose chunks that suit the way a file will be read.

    Parameters
    ----------
    access : {"frames", "atoms", "both"}
        How the file will be read: whole frames, a few atoms in all frames, or both.
    n_frames, n_atoms : int
        Numbers of frames and atoms in the file.
    n_quantities : int
        Number of stored quantities among positions, velocities and forces.

    Returns
    -------
    Chunking
        The chunks, without compression. The numbers of frames and atoms in a chunk are powers of two, unless a chunk
        contains all frames or all atoms.

    Raises
    ------
    MismatchError
        If `access` is unknown.

    Notes
    -----
    Compressed chunks can be read only as a whole. To read a single frame from chunks of f frames, mdreel therefore has
    to read f times as many bytes as the frame contains. The same applies to single atoms.

    * With ``"frames"``, a chunk contains all atoms, and as many frames as fit into 1 MiB.
    * With ``"atoms"``, a chunk contains as many frames as a worker can store with all their atoms in 32 MiB. The number
      of atoms is chosen so that the chunk has a size of 32 KiB.
    * With ``"both"``, a chunk has 48 KiB and as many frames as atoms.

    Examples
    --------
    >>> from mdreel.trajectory.chunking import choose_chunking
    >>> chunking = choose_chunking("atoms", n_frames=10_000, n_atoms=3341)
    >>> chunking.frames, chunking.atoms
    (512, 4)
    """
    frame_bytes = ATOM_BYTES * max(n_atoms, 1)
    most_frames = min(_power_of_two(BLOCK_BYTES / (frame_bytes * n_quantities)), MOST_FRAMES, max(n_frames, 1))
    if access == "frames":
        return Chunking(min(_power_of_two(FRAMES_CHUNK_BYTES / frame_bytes), most_frames), n_atoms)
    if access == "atoms":
        frames, chunk_bytes = most_frames, ATOMS_CHUNK_BYTES
    elif access == "both":
        frames = min(_power_of_two(sqrt(BOTH_CHUNK_BYTES / ATOM_BYTES)), most_frames)
        chunk_bytes = BOTH_CHUNK_BYTES
    else:
        raise MismatchError(f"the access must be one of {', '.join(ACCESSES)}, not {access!r}")
    return Chunking(frames, min(_power_of_two(chunk_bytes / (ATOM_BYTES * frames)), n_atoms))


def parse_chunk(text: str) -> tuple[int, int]:
    """Parse the numbers of frames and atoms in a chunk.

    Parameters
    ----------
    text : str
        Text such as ``64x3341``.

    Returns
    -------
    tuple of int
        Numbers of frames and atoms.

    Raises
    ------
    MismatchError
        If the text does not consist of two positive numbers separated by an x.
    """
    found = re.fullmatch(r"([1-9][0-9]{0,11})[x×]([1-9][0-9]{0,11})", text.strip())
    if found is None:
        raise MismatchError(f"a chunk is FRAMESxATOMS, such as 64x1000, not {text!r}")
    return int(found[1]), int(found[2])


def check_chunk(chunk: tuple[int, int], n_frames: int, n_atoms: int, n_quantities: int) -> Chunking:
    """Check the chunk shape chosen by the user.

    Parameters
    ----------
    chunk : tuple of int
        Numbers of frames and atoms in each chunk. Numbers that exceed those of the file are reduced.
    n_frames, n_atoms, n_quantities : int
        See `choose_chunking`.

    Returns
    -------
    Chunking
        The chunks, without compression.

    Raises
    ------
    MismatchError
        If a number is not positive, or if all atoms in the frames of a chunk need more than 256 MiB of memory.
    """
    if min(chunk) < 1:
        raise MismatchError(f"a chunk has at least 1 frame and 1 atom, not {chunk[0]} and {chunk[1]}")
    frames, atoms = min(chunk[0], max(n_frames, 1)), min(chunk[1], n_atoms)
    frame_bytes = ATOM_BYTES * n_atoms * n_quantities
    if frames > 1 and frames * frame_bytes > MOST_BLOCK_BYTES:
        raise MismatchError(
            f"chunks of {frames} frames need {frames * frame_bytes / 2**20:,.0f} MiB for each thread that holds all "
            f"{n_atoms:,} atoms of these frames: at most {max(MOST_BLOCK_BYTES // frame_bytes, 1)} frames are supported"
        )
    return Chunking(frames, atoms)


def check_compression(compression: str, level: int | None) -> int | None:
    """Check the compression of chunks.

    Parameters
    ----------
    compression : {"none", "gzip"}
        The compression.
    level : int, optional
        Compression level of gzip, from 0 to 9. The default is 4.

    Returns
    -------
    int or None
        The level, or None if there is no compression.

    Raises
    ------
    MismatchError
        If the compression or the level is unknown, or if a level is given without compression.
    """
    if compression not in COMPRESSIONS:
        raise MismatchError(f"the compression must be one of {', '.join(COMPRESSIONS)}, not {compression!r}")
    if compression == "none":
        if level is not None:
            raise MismatchError("a level of compression was given, but no compression: choose gzip")
        return None
    level = DEFAULT_LEVEL if level is None else level
    if not 0 <= level <= 9:
        raise MismatchError(f"the level of compression must be from 0 to 9, not {level}")
    return level


def _power_of_two(limit: float) -> int:
    """Return the largest power of two up to a limit, at least 1."""
    return 1 << max(int(limit), 1).bit_length() - 1
