"""Topology attributes that an analysis requires."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


def check_attributes(atomgroup: "AtomGroup", *names: str) -> None:
    """Check that the topology has the required attributes.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms.
    *names : str
        Names of attributes, such as ``names`` or ``resids``.

    Raises
    ------
    MissingDataError
        If an attribute is missing.
    """
    for name in names:
        if not hasattr(atomgroup, name):
            from mdreel.analysis.topology.missing_data import MissingDataError

            raise MissingDataError(f"the topology has no {name}: use a topology that has them, such as PDB, PSF or TPR")
