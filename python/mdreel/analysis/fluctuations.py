"""Mean positions and fluctuations from sums of displacements."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, superposed_fluctuation
from mdreel.analysis.topology.fitted_groups import ComparedAtoms
from mdreel.analysis.topology.reference import read_frame
from mdreel.execution.tally import Tally

if TYPE_CHECKING:
    from MDAnalysis import Universe


def after_superposition(
    source: Source,
    fitted: ComparedAtoms,
    wanted: NDArray[np.uint32],
    atoms: NDArray[np.uint32],
    universe: "Universe | None",
) -> Computation:
    """Return the computation that sums the displacements of atoms after superposing a group.

    Parameters
    ----------
    source : Source
        The trajectory.
    fitted : ComparedAtoms
        The superposed atoms and their reference.
    wanted : ndarray, shape (n_wanted,), uint32
        Indices of the atoms whose displacements are summed, in ascending order.
    atoms : ndarray, shape (n_atoms,), uint32
        Indices of all atoms that are read, in ascending order.
    universe : MDAnalysis.Universe or None
        The Universe to which `source` belongs, or None for a separate trajectory.
    """
    structure = fitted.structure
    start = read_frame(source, structure.frame or 0 if structure.is_of(universe) else 0, wanted)
    places = np.searchsorted(atoms, wanted).astype(np.uint32)
    return superposed_fluctuation(len(atoms), fitted.among(atoms, source, universe), places, start)


def means_and_fluctuations(tally: Tally) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean position of each atom, shape (n_atoms, 3), and its RMSF, shape (n_atoms,), in Å."""
    start = tally.arguments[-1]
    sums = tally.sums.reshape(-1, 4) / tally.n_frames
    displacement, square = sums[:, :3], sums[:, 3]
    if tally.n_frames == 1:
        return start + displacement, np.zeros(len(start))
    # Rounding can make the difference slightly negative.
    return start + displacement, np.sqrt(np.maximum(square - (displacement**2).sum(axis=1), 0.0))
