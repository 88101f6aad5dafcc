"""Manifests of channels."""

from dataclasses import dataclass
from typing import Any, Self

UNITS = (("length", "angstrom"), ("time", "ps"), ("energy", "kJ/mol"), ("angle", "degree"))
"""The units of all channels."""


@dataclass(frozen=True)
class Manifest:
    """What holds for all frames of a channel.

    Attributes
    ----------
    n_atoms : int
        Number of atoms.
    stream : int
        The number of the stream, by which frames of different channels are told apart.
    sections : tuple of (str, str)
        What frames have, and as which numbers: positions, velocities, forces, energies; float32, float64, xtc,
        type and float64.
    energies : tuple of str
        Names of the energies, in order.
    time_step : float
        Time between two steps, ps; 0 where nobody has said.
    stride : int
        Steps between two frames; 0 where nobody has said.
    topology_hash : bytes
        32 bytes by which a user knows the topology; zeros where nobody has said.
    units : tuple of (str, str)
        Units by what they are of.
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
    def of(cls, said: dict[str, Any]) -> Self:
        """Return what the core says of a channel."""
        lists = {name: tuple(said[name]) for name in ("sections", "energies", "units")}
        return cls(**{**said, **lists})
