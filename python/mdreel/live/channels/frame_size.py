"""Sizes of frames."""

from mdreel.live.channels.core_without_arrays import channel_frame_bytes, channel_xtc_frame_bytes
from mdreel.live.channels.manifest import Manifest

TYPED_BYTES = 28
"""Size of an atom with its type (int32) and its position in Å (three float64), in bytes."""
_NUMBER_BYTES = {"float32": 4, "float64": 8}


def max_frame_bytes(manifest: Manifest) -> int:
    """Return the maximum size of a frame, in bytes."""
    return channel_frame_bytes([_bytes_of_section(manifest, *section) for section in manifest.sections])


def _bytes_of_section(manifest: Manifest, name: str, dtype: str) -> int:
    if name == "energies":
        return 8 * len(manifest.energies)
    if dtype == "xtc":
        return channel_xtc_frame_bytes(manifest.n_atoms)
    return manifest.n_atoms * (TYPED_BYTES if dtype == "type and float64" else 3 * _NUMBER_BYTES[dtype])
