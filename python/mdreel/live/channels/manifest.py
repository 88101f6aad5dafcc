"""Manifests, which contain the properties that all frames of a channel have in common."""

from dataclasses import dataclass
from typing import Any, Self

UNITS = (("length", "angstrom"), ("time", "ps"), ("energy", "kJ/mol"), ("angle", "degree"))
"""Units in all channels."""


@dataclass(frozen=True)
class Manifest:
    """Properties that all frames of a channel have in common.

    Attributes
    ----------
    n_atoms : int
        Number of atoms.
    stream : int
        Number that distinguishes the frames of this channel from those of other channels.
    sections : tuple of (str, str)
        Name (positions, velocities, forces or energies) and data type (float32, float64, xtc, or type and float64) of
        each section.
    energies : tuple of str
        Names of the energies, in order.
    time_step : float
        Time between two steps, in ps, or 0 if it is unknown.
    stride : int
        Number of steps between two frames, or 0 if it is unknown.
    topology_hash : bytes
        32 bytes that identify the topology. They are all zero if the topology is unknown.
    units : tuple of (str, str)
        Unit of each dimension.

    Examples
    --------
    >>> import mdreel
    >>> producer = mdreel.live.Producer("run1", n_atoms=3, velocities=True, time_step=0.002)
    >>> producer.manifest.n_atoms, producer.manifest.sections
    (3, (('positions', 'float32'), ('velocities', 'float32')))
    """

    n_atoms: int
    stream: int
    sections: tuple[tuple[str, str], ...]
    energies: tuple[str, ...] = ()
    time_step: float = 0.0
    stride: int = 0
    topology_hash: bytes = bytes(32)
    units: tuple[tuple[str, str], ...] = UNITS

    @classmethod
    def from_core(cls, said: dict[str, Any]) -> Self:
        """Convert a manifest from the core."""
        lists = {name: tuple(said[name]) for name in ("sections", "energies", "units")}
        return cls(**{**said, **lists})
