"""Settings of the analyses that every library is given."""

from collections.abc import Callable
from typing import Any

import numpy as np

CONTACT = 8.0
"""Distance below which two atoms are in contact, Å."""

OXYGEN, HYDROGEN = "resname SOL and name OW", "resname SOL and name HW1 HW2"
"""Water."""

OF_PROTEIN: dict[str, Any] = {
    "donors_sel": None,
    "hydrogens_sel": "name H* and bonded name N* O*",
    "acceptors_sel": "name N* O*",
}
"""Hydrogen bonds of a protein without water; donors are the atoms bonded to these hydrogens."""

N_BINS, FARTHEST = 100, 10.0
"""Number of bins of radial distributions, and their largest distance, Å."""

SALT_BRIDGES = ("resname ARG LYS and name NH* NZ", "resname ASP GLU and name OE* OD*")
SALT_BRIDGE = 6.0
"""The charged atoms whose native contacts are counted, and their distance, Å."""

BRIDGED: dict[str, Any] = {
    "selection1": "protein and resid 122:159",
    "selection2": "protein and resid 1:121 160:214",
    "water_selection": "resname SOL",
    "order": 2,
}
"""Lid and core of adenylate kinase, and the waters that link them."""

RESIDUE_CONTACT = 4.5
"""Distance of the nearest heavy atoms of two residues in contact, Å."""

PROBE, N_SPHERE_POINTS = 1.4, 960
"""Radius of the probe of surfaces, Å, and number of points on the sphere around each atom."""

CHARGES = {"OW": -0.82, "HW1": 0.41, "HW2": 0.41}
"""Charges of water (SPC), e, which the topology of the benchmark does not contain."""

SHELL, SHELL_WIDTH = "same resid as (name OW and around 3.5 protein)", 3.5
"""Selection that changes with every frame, and the distance in it, Å."""

LONGEST_STAY = 10
"""Longest lag of survival probabilities, in analysed frames."""

INCLUSION, PRESERVED = 15.0, (0.5, 1.0, 2.0, 4.0)
"""Longest distance that lDDT compares, and the differences up to which it counts as preserved, Å."""

CLUSTER = 1.5
"""Largest RMSD of two neighbours of clusters, and of a frame from the leader of its cluster, Å."""

N_CLUSTERS = 10
"""Number of clusters of methods that need it."""

SLAB = 0.5
"""Width of the bins of profiles, Å."""


def charge(universe: Any) -> Any:
    """Add the charges of water and return its atoms."""
    universe.add_TopologyAttr("charges", [CHARGES.get(name, 0.0) for name in universe.atoms.names])
    return universe.select_atoms("resname SOL")


def mean_size(sizes: Any) -> float:
    """Return the mean size of the cluster of a frame."""
    return float(np.square(sizes, dtype=np.float64).sum() / np.sum(sizes))


def mean_height(profile: Any) -> float:
    """Return the mean height of the mass along z, Å: libraries do not agree on the volume of a triclinic cell."""
    return float(np.average(profile.hist_bin_edges[1:], weights=profile.mass_density))


VALUES: dict[str, Callable[[Any], Any]] = {
    "rmsf": lambda found: found.rmsf.mean(),
    "rmsf-superposed": lambda found: found.rmsf.mean(),
    "dihedrals": lambda found: np.abs(found.angles).mean(),
    "rdf": lambda found: found.rdf.mean(),
    "contacts": lambda found: found.timeseries[:, 1].mean(),
    "linear-density": lambda found: mean_height(found.z),
    "pca": lambda found: found.variance[:10].sum(),
    "msd": lambda found: found.timeseries.mean(),
    "msd-protein": lambda found: found.timeseries.mean(),
    "hbonds": lambda found: len(found.hbonds),
    "hbonds-protein": lambda found: len(found.hbonds),
}
"""The number to which every part of a result contributes, by analysis, where mdreel and MDAnalysis name it alike."""
