"""Detection of molecules in a reference structure that are broken across the periodic boundary."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source
from mdreel.analysis.periodic.broken_molecules import BrokenMolecule, find_broken
from mdreel.analysis.periodic.periodic_cell import PeriodicCell
from mdreel.analysis.transformations import unwrap
from mdreel.trajectory.placeholder_cell import known_cell

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


def broken_reference(group: "AtomGroup", frame: int | None) -> BrokenMolecule | None:
    """Find a molecule in a reference that is broken across the periodic boundary.

    Parameters
    ----------
    group : MDAnalysis.AtomGroup
        The atoms of the reference.
    frame : int or None
        Frame number in the reference trajectory, or None for the current positions.

    Returns
    -------
    BrokenMolecule or None
        The first broken molecule, or None if every molecule is whole or if the Universe is at another frame.
    """
    universe = group.universe
    trajectory = getattr(universe, "trajectory", None)
    if trajectory is None or frame not in (None, trajectory.frame):
        return None
    dimensions = known_cell(universe.dimensions)
    cell = None if dimensions is None else PeriodicCell.of_dimensions(dimensions)
    if dimensions is None or cell is None:
        return None
    atoms = np.unique(group.ix).astype(np.uint32)

    def unwrapped(of: "AtomGroup") -> NDArray[np.float32]:
        everything = np.ascontiguousarray(universe.atoms.positions, np.float32)
        source = Source.memory(everything[None], np.zeros(1), dimensions[None])
        whole: NDArray[np.float32] = (
            source.with_transformations([unwrap(of)]).read(FrameSet.range(0, 1, 1), atoms).positions[0]
        )
        return whole

    # Most references are whole, so the positions of all other atoms are not needed.
    positions = np.asarray(trajectory.ts.positions[atoms], np.float32)
    return find_broken(universe, atoms, positions, cell, unwrapped)
