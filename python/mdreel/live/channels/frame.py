"""Frames that a consumer receives from a channel."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mdreel._core import ChannelFrame
from mdreel.live.channels.sections import section_arrays


class Frame:
    """Frame of a simulation. Its arrays are views of the ring.

    The arrays never change, because the producer skips the slot of the frame as long as the frame, or any array derived
    from its arrays, exists. If you want to keep a frame for a longer time, you should use `copy`, so that its slot
    becomes available again. Positions that were compressed as XTC will be decompressed into a separate array.

    Attributes
    ----------
    sequence : int
        Sequence number of the frame.
    epoch : int
        Number of earlier producers of the channel.
    step : int
        Step of the simulation.
    time : float
        Time, in ps.
    box : ndarray, shape (3, 3), float64, or None
        Row vectors of the cell, in Å.

    Examples
    --------
    >>> import numpy as np
    >>> import mdreel
    >>> with mdreel.live.Producer("run1", n_atoms=3) as producer, mdreel.live.Consumer("run1") as frames:
    ...     published = producer.publish(np.ones((3, 3), np.float32), step=10, time=0.02)
    ...     kept = frames.next().copy()
    >>> kept.step, kept.time, kept.positions.shape
    (10, 0.02, (3, 3))
    """

    __slots__ = ("__weakref__", "_arrays", "box", "epoch", "sequence", "step", "time")

    def __init__(
        self,
        sequence: int,
        epoch: int,
        step: int,
        time: float,
        box: NDArray[np.float64] | None,
        arrays: dict[str, NDArray[Any]],
    ) -> None:
        self.sequence = sequence
        self.epoch = epoch
        self.step = step
        self.time = time
        self.box = box
        self._arrays = arrays

    @classmethod
    def from_core(cls, core: ChannelFrame) -> Self:
        """Return a frame whose arrays are views of a frame in the core."""
        cell = core.cell
        box = None if cell is None else np.array(cell).reshape(3, 3)
        arrays: dict[str, NDArray[Any]] = {}
        memory = memoryview(core)
        for name, data_type, first, n_bytes in core.sections():
            arrays |= section_arrays(name, data_type, memory[first : first + n_bytes], core.n_atoms)
        return cls(core.sequence, core.epoch, core.step, core.time, box, arrays)

    @property
    def positions(self) -> NDArray[Any] | None:
        """Positions, shape (n_atoms, 3), float32 or float64, in Å, read-only, or None."""
        return self._arrays.get("positions") if self.atoms is None else self.atoms["position"]

    @property
    def velocities(self) -> NDArray[Any] | None:
        """Velocities, shape (n_atoms, 3), float32 or float64, in Å/ps, read-only, or None."""
        return self._arrays.get("velocities")

    @property
    def forces(self) -> NDArray[Any] | None:
        """Forces, shape (n_atoms, 3), float32 or float64, in kJ/(mol Å), read-only, or None."""
        return self._arrays.get("forces")

    @property
    def energies(self) -> NDArray[Any] | None:
        """Energies, shape (n_energies,), float64, in kJ/mol, read-only, ordered as in the manifest, or None."""
        return self._arrays.get("energies")

    @property
    def types(self) -> NDArray[Any] | None:
        """Atom types, shape (n_atoms,), int32, read-only, or None unless the data type is "type and float64"."""
        return None if self.atoms is None else self.atoms["type"]

    @property
    def atoms(self) -> NDArray[Any] | None:
        """Types and positions with the fields ``type`` and ``position``, shape (n_atoms,), read-only, or None."""
        return self._arrays.get("atoms")

    def copy(self) -> "Frame":
        """Return a copy of the frame that you can keep and modify."""
        arrays = {name: array.copy() for name, array in self._arrays.items()}
        return Frame(self.sequence, self.epoch, self.step, self.time, self.box, arrays)

    def __repr__(self) -> str:
        return f"<frame {self.sequence}: step {self.step}, {self.time:g} ps, {', '.join(self._arrays) or 'no arrays'}>"
