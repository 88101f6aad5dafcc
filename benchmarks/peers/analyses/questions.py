"""What all libraries are asked."""

CONTACT = 8.0
"""Distance below which two atoms are in contact, Å."""

OXYGEN, HYDROGEN = "resname SOL and name OW", "resname SOL and name HW1 HW2"
"""Water."""

N_BINS, FARTHEST = 100, 10.0
"""Of radial distributions: bins, and the distance where they end, Å."""

SALT_BRIDGES = ("resname ARG LYS and name NH* NZ", "resname ASP GLU and name OE* OD*")
SALT_BRIDGE = 6.0
"""The charged atoms whose native contacts are counted, and their distance, Å."""

PROBE, N_SPHERE_POINTS = 1.4, 960
"""Of surfaces: the radius of the probe, Å, and points on the sphere around each atom."""
