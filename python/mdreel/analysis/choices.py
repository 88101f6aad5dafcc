"""Allowed values for the arguments of analyses.

The command line accepts the same values. This module imports nothing else, so help texts can be printed without loading
NumPy.
"""

from typing import Literal, TypeAlias

ContactMethod: TypeAlias = Literal["hard_cut", "soft_cut", "radius_cut", "count"]
"""Criterion for the contacts of a reference. With ``count``, all contacts are counted instead."""

PairsCounted: TypeAlias = Literal["unique", "all"]
"""Pairs of atoms to count as contacts if the two groups share atoms."""

ContactScheme: TypeAlias = Literal["closest-heavy", "closest", "ca", "cb", "sidechain", "sidechain-heavy"]
"""Atoms of a residue whose distances to another residue count."""

ContactValue: TypeAlias = Literal["frequency", "mean", "minimum", "lifetime"]
"""Value that a map shows for each pair of residues."""

ComparisonScore: TypeAlias = Literal["lddt", "tm-score", "residue-rmsd", "native-contacts", "symmetric-rmsd"]
"""Comparison of each frame with a reference structure."""

InteractionName: TypeAlias = Literal[
    "Hydrophobic",
    "HBAcceptor",
    "HBDonor",
    "XBAcceptor",
    "XBDonor",
    "Cationic",
    "Anionic",
    "CationPi",
    "PiCation",
    "FaceToFace",
    "EdgeToFace",
    "PiStacking",
    "MetalDonor",
    "MetalAcceptor",
    "VdWContact",
    "WaterBridge",
]
"""Interaction of two residues, named as in ProLIF for the part of the first residue."""

BridgeRole: TypeAlias = Literal["both", "donor", "acceptor"]
"""Role of the first selection in the hydrogen bonds of water bridges."""

BondDistance: TypeAlias = Literal["hydrogen", "heavy"]
"""Atom of a donor from which the length of a hydrogen bond is measured."""

TorsionKind: TypeAlias = Literal["phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4"]
"""Type of torsion in a protein."""

Features: TypeAlias = Literal["degrees", "cos_sin"]
"""Representation of an angle: degrees, or cosine and sine, which are continuous at 180 degrees."""

DSSPMethod: TypeAlias = Literal["simplified", "kabsch-sander"]
"""Assignment of secondary structure: three states, or the eight states of Kabsch and Sander."""

Grouping: TypeAlias = Literal["atoms", "residues", "segments", "fragments"]
"""Groups of atoms whose mass and charge are placed at their centre of mass."""

Coordinates: TypeAlias = Literal["xyz", "xy", "xz", "yz", "x", "y", "z"]
"""Coordinates that contribute to a displacement."""

Scheme: TypeAlias = Literal["lattice", "toroidal"]
"""Scheme for undoing jumps across boundaries: counting cells or adding up displacements."""

Norm: TypeAlias = Literal["rdf", "density", "none"]
"""Normalisation of pair counts: by shell volume and density, by shell volume, or none."""

SharedGroup: TypeAlias = Literal["residue", "segment", "chain"]
"""Group to which the two atoms of a counted pair must not both belong."""

AreaMode: TypeAlias = Literal["atom", "residue", "total"]
"""Part of the selection for which an area is computed."""

TransformationName: TypeAlias = Literal["whole", "wrap-atoms", "wrap-residues", "wrap-fragments", "center", "nojump"]
"""Transformation in a recipe: make molecules whole along their bonds, move atoms, residues or molecules into the cell,
centre a group of atoms in the cell, or undo jumps across boundaries."""

CorrelationValue: TypeAlias = Literal["correlation", "generalized_correlation"]
"""Correlation of two atoms: of their displacements, or the one that corresponds to their mutual information."""

ClusterMethod: TypeAlias = Literal[
    "gromos", "single", "complete", "average", "dbscan", "k-means", "k-medoids", "online"
]
"""Method of clustering: GROMOS, hierarchical with one of three linkages, DBSCAN, k-means, k-medoids, or online."""

InitialCenters: TypeAlias = Literal["k-means++", "nani"]
"""Choice of the frames that k-means and k-medoids start from."""

LinkageMethod: TypeAlias = Literal["single", "complete", "average"]
"""Distance of two clusters: the smallest, the largest or the mean distance of their frames."""
