"""Values that arguments of analyses may have.

The command line offers the same values. This module imports nothing else, so that help is printed without NumPy.
"""

from typing import Literal, TypeAlias

ContactMethod: TypeAlias = Literal["hard_cut", "soft_cut", "radius_cut", "count"]
"""Criterion for a contact of the reference; ``count`` counts all contacts instead."""

PairsCounted: TypeAlias = Literal["unique", "all"]
"""Pairs of atoms that can be contacts where the two groups share atoms."""

ContactScheme: TypeAlias = Literal["closest-heavy", "closest", "ca", "cb", "sidechain", "sidechain-heavy"]
"""Atoms of a residue whose distances to another residue count."""

ContactValue: TypeAlias = Literal["frequency", "mean", "minimum", "lifetime"]
"""Value of each pair of residues that a map shows."""

TorsionKind: TypeAlias = Literal["phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4"]
"""Torsion of a protein."""

Features: TypeAlias = Literal["degrees", "cos_sin"]
"""Representation of an angle: degrees, or cosine and sine, which do not jump at 180 degrees."""

DSSPMethod: TypeAlias = Literal["simplified", "kabsch-sander"]
"""Three states of secondary structure, or the eight of Kabsch and Sander."""

Grouping: TypeAlias = Literal["atoms", "residues", "segments", "fragments"]
"""Groups that are counted at their centres of mass."""

Coordinates: TypeAlias = Literal["xyz", "xy", "xz", "yz", "x", "y", "z"]
"""Coordinates that contribute to a displacement."""

Scheme: TypeAlias = Literal["lattice", "toroidal"]
"""Scheme that undoes jumps across boundaries: count cells, or add up displacements."""

Norm: TypeAlias = Literal["rdf", "density", "none"]
"""Normalisation of pair counts: by shells and density, by shells, or none."""

SharedGroup: TypeAlias = Literal["residue", "segment", "chain"]
"""Group that the two atoms of a counted pair must not share."""

AreaMode: TypeAlias = Literal["atom", "residue", "total"]
"""Part of the selection that has an area."""

TransformationName: TypeAlias = Literal["whole", "wrap-atoms", "wrap-residues", "wrap-fragments", "center", "nojump"]
"""Transformation of a recipe: make molecules whole over their bonds; move atoms, residues or molecules into the cell;
centre a group of atoms in the cell; undo jumps across boundaries."""
