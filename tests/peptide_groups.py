"""Groups of atoms of the small peptide."""

import MDAnalysis
import numpy as np

from peptide_system import N_RESIDUES, System


def shell(system: System, distance: float = 4) -> MDAnalysis.AtomGroup:
    """Carbon atoms near the oxygen of carbonyl groups: a group that changes in each frame."""
    return system.universe.select_atoms(f"name C* and around {distance} name O", updating=True)


def fours(system: System) -> list[MDAnalysis.AtomGroup]:
    """The atoms of the torsions psi."""

    def atom(resid: int, name: str) -> MDAnalysis.AtomGroup:
        return system.universe.select_atoms(f"resid {resid} and name {name}")

    return [atom(k, "N") + atom(k, "CA") + atom(k, "C") + atom(k + 1, "N") for k in range(1, N_RESIDUES)]


def backbone(system: System) -> np.ndarray:
    """The atoms CA, N and C of each residue, in place of the atoms of water molecules."""
    return np.stack([system.pick(f"name {name}").ix for name in ("CA", "N", "C")], axis=1)
