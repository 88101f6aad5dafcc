"""Numbers of atoms in trajectories and topologies."""

from mdreel._core import Source
from mdreel.errors import MismatchError
from mdreel.execution.source_name import source_name


def topology_mismatch(source: Source, n_atoms: int) -> MismatchError:
    """Return the error for a trajectory and a topology with different numbers of atoms.

    Parameters
    ----------
    source : Source
        The trajectory.
    n_atoms : int
        Number of atoms in the topology.
    """
    found = f"the trajectory has {source.n_atoms} atoms, the topology has {n_atoms}"
    return MismatchError(f"{found}: use the topology of the same system", path=source_name(source))
