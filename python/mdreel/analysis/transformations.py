"""Transformations of frames: unwrap, wrap, center, superpose, undo jumps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Source, Transformation, centered, superposed, whole, without_jumps, wrapped
from mdreel.analysis.choices import Scheme
from mdreel.analysis.topology.matching import MASS_TOLERANCE, Matching
from mdreel.analysis.topology.reference import is_group
from mdreel.analysis.topology.spanning_forest import SpanningForest
from mdreel.analysis.topology.weights import weights_of
from mdreel.errors import MismatchError, SelectionError, UnsupportedError
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.local.serial import Serial
from mdreel.trajectory.selection import Selection

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

Compound: TypeAlias = Literal["atoms", "group", "segments", "residues", "molecules", "fragments"]
"""Atoms that are moved as one."""

_INDEX_OF = {"segments": "segindices", "residues": "resindices", "molecules": "molnums", "fragments": "fragindices"}


def unwrap(atomgroup: "AtomGroup", reference: Literal["com", "cog"] | None = None) -> Transformation:
    """Make molecules whole that the cell's boundary cuts: each atom comes to the image nearest to one it is bonded to.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        Atoms; their fragments are made whole, all that atoms are bonded to directly or by way of others.
    reference : {"com", "cog"}, optional
        Whether whole fragments are moved so that their centre of mass, or of geometry, is in the primary cell. By
        default the first atom of each stays where it is.

    Returns
    -------
    Transformation
        For `run(transformations=...)`.

    Raises
    ------
    SelectionError
        If the group is empty, or the topology has no bonds, or no masses where they are asked for.
    MismatchError
        If the reference is unknown. When it is run: if a frame has no cell.

    Notes
    -----
    As `MDAnalysis.transformations.unwrap`, and `AtomGroup.unwrap` where there is a reference. What is read besides the
    atoms of the analyses are the rest of their fragments, and no others. Arithmetic is float64, in cells of any shape;
    positions are rounded to float32 once.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> from mdreel.analysis.rg import Rg
    >>> protein = mda.Universe(TPR, XTC).select_atoms("protein")
    >>> radii = Rg(protein).run(transformations=[unwrap(protein)]).results.rgyr[:, 2]
    >>> bool(radii.max() < 20)
    True
    """
    selection = Selection.of(atomgroup)
    if reference not in (None, "com", "cog"):
        raise MismatchError(f"reference must be 'com', 'cog' or None, not {reference!r}")
    forest = SpanningForest.of(atomgroup.universe, selection.atoms)
    weights = None
    if reference == "com":
        weights = weights_of(atomgroup.universe.atoms[forest.atoms], "mass")
    return whole((forest.atoms, forest.ends), forest.parents, weights, reference is not None)


def wrap(atomgroup: "AtomGroup", compound: Compound = "atoms", center: Literal["com", "cog"] = "com") -> Transformation:
    """Move atoms, or compounds of them, so that their centres are in the primary cell.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms that are moved.
    compound : {"atoms", "group", "segments", "residues", "molecules", "fragments"}
        Which atoms of the group are moved as one.
    center : {"com", "cog"}
        Whether the centre of a compound is that of mass or of geometry.

    Returns
    -------
    Transformation
        For `run(transformations=...)`.

    Raises
    ------
    SelectionError
        If the group is empty, or the topology does not know the compounds, or no masses.
    MismatchError
        If compound or centre are unknown. When it is run: if a frame has no cell.

    Notes
    -----
    As `MDAnalysis.core.groups.AtomGroup.wrap`. A compound that the boundary cuts has a centre that means nothing:
    `unwrap` it before.
    """
    atoms = Selection.of(atomgroup).atoms
    if compound not in ("atoms", "group", *_INDEX_OF):
        raise MismatchError(f"compound must be one of atoms, group, {', '.join(_INDEX_OF)}, not {compound!r}")
    if center not in ("com", "cog"):
        raise MismatchError(f"center must be 'com' or 'cog', not {center!r}")
    if compound == "atoms":
        return wrapped((atoms, np.arange(1, len(atoms) + 1, dtype=np.uint64)), None)
    ordered, ends = _compounds(atomgroup.universe.atoms[atoms], compound)
    weights = weights_of(atomgroup.universe.atoms[ordered], "mass") if center == "com" else None
    return wrapped((ordered, ends), weights)


def center_in_box(
    atomgroup: "AtomGroup",
    center: Literal["geometry", "mass"] = "geometry",
    point: ArrayLike | None = None,
    wrap: bool = False,
) -> Transformation:
    """Move all atoms so that the centre of a group is in the middle of the cell, or at a point.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The group.
    center : {"geometry", "mass"}
        Which centre.
    point : array_like, shape (3,), float64, optional
        Where to, Å; by default the middle of the cell of each frame.
    wrap : bool
        Whether the centre is computed of the atoms' images in the primary cell.

    Returns
    -------
    Transformation
        For `run(transformations=...)`.

    Raises
    ------
    SelectionError
        If the group is empty, or the topology has no masses where they are asked for.
    MismatchError
        If the centre is unknown, or the point is none. When it is run: if a frame has no cell where one is needed.

    Notes
    -----
    As `MDAnalysis.transformations.center_in_box`. The atoms of the group are read besides those of the analyses.
    """
    selection = Selection.of(atomgroup)
    if center not in ("geometry", "mass"):
        raise MismatchError(f"center must be 'geometry' or 'mass', not {center!r}")
    weights = selection.add_up(weights_of(atomgroup, "mass" if center == "mass" else None))
    target = None
    if point is not None:
        values = np.asarray(point, np.float64)
        if values.shape != (3,):
            raise MismatchError(f"point must have the shape (3,), got {values.shape}")
        target = (float(values[0]), float(values[1]), float(values[2]))
    return centered(selection.atoms, weights, target, wrap)


def fit_rot_trans(
    atomgroup: "AtomGroup",
    reference: "AtomGroup | ArrayLike",
    weights: Literal["mass"] | ArrayLike | None = None,
    *,
    tol_mass: float = MASS_TOLERANCE,
    match_atoms: bool = True,
) -> Transformation:
    """Move and turn all atoms so that a group lies closest to a reference.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The group.
    reference : MDAnalysis.AtomGroup or array_like, shape (n_atoms, 3), float64
        As many atoms in the same order, at the current frame of their Universe, or their positions in Å.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        How much each atom counts.
    tol_mass : float
        By how much the masses of two atoms may differ that correspond, amu.
    match_atoms : bool
        Whether the atoms of a reference must correspond to those that they are compared with: same masses, same order
        of names and residues. False takes them in the order in which they come.

    Returns
    -------
    Transformation
        For `run(transformations=...)`.

    Raises
    ------
    SelectionError
        If the group is empty, or the topology has no masses where they are asked for.
    MismatchError
        If reference or weights do not fit the group, or atoms do not correspond to those of the reference.
        When it is run: if a coordinate of the group is no finite number.

    Notes
    -----
    As `MDAnalysis.transformations.fit_rot_trans`. Velocities and forces turn with the atoms; the cell does not. The
    atoms of the group are read besides those of the analyses. Images of the cell are not looked for: `unwrap` before.
    """
    selection = Selection.of(atomgroup)
    positions = reference
    if is_group(reference):
        Matching(tol_mass, match_atoms).check(atomgroup, reference)
        positions = reference.positions
    points = selection.gather(np.asarray(positions, np.float64), "reference")
    return superposed(selection.atoms, points, selection.add_up(weights_of(atomgroup, weights)))


def nojump(scheme: Scheme = "lattice") -> Transformation:
    """Follow all atoms across boundaries: one that leaves the cell on one side does not come back on the other.

    Parameters
    ----------
    scheme : {"lattice", "toroidal"}
        What is kept where the size of the cell changes: how many cells an atom went, or how far it went. In a cell of
        constant size they are the same.

    Returns
    -------
    Transformation
        For `run(transformations=...)`.

    Raises
    ------
    UnsupportedError
        If the scheme is unknown. When it is run: on executors other than serial and threads, with a checkpoint, or of a
        trajectory that grows.

    Notes
    -----
    Each frame needs the one before: the run is one block, read in order by one worker. Atoms must not go further than
    half a cell from one frame that is read to the next. ``"lattice"`` takes the nearest image, in fractions of the cell
    (Kulke and Vermaas, J. Chem. Theory Comput. 18 (2022) 6161). MDAnalysis's `NoJump` rounds fractions: in cells with
    angles far from 90 degrees it differs for atoms that move more than half the least height of the cell. At constant
    pressure ``"lattice"`` lets an atom that is many cells away move with the fluctuations of the cell; ``"toroidal"``
    does not (von Bülow, Bullerjahn and Hummer, J. Chem. Phys. 153 (2020) 021101; Bullerjahn et al., J. Chem. Theory
    Comput. 19 (2023) 3406), but moves the atoms of a molecule apart unless they are whole.
    """
    return without_jumps(scheme)


def transformed(source: Source, transformations: Sequence[Transformation]) -> Source:
    """Return a trajectory whose frames are transformed as they are read.

    Raises
    ------
    MismatchError
        If one is no transformation, or is of other atoms than those of the trajectory.
    """
    for one in transformations:
        if not isinstance(one, Transformation):
            raise MismatchError(f"a transformation is made by unwrap, wrap, ..., not {type(one).__name__}")
    return source.with_transformations(list(transformations)) if transformations else source


def executor_in_order(source: Source, executor: Executor, n_parts: int | None, has_checkpoint: bool) -> Executor:
    """Return who reads a trajectory, one frame after the other where a transformation needs that.

    Raises
    ------
    UnsupportedError
        If that cannot be done with this executor, or as it is asked for.
    """
    if not any(one.needs_order for one in source.transformations):
        return executor
    reason = "nojump needs each frame after the one before, in one block"
    if executor.name not in ("serial", "threads"):
        raise UnsupportedError(f"{reason}: the backend {executor.name} cannot do that, use 'serial'")
    if n_parts not in (None, 1):
        raise UnsupportedError(f"{reason}: n_parts must be 1, not {n_parts}")
    if has_checkpoint:
        raise UnsupportedError(f"{reason}: a checkpoint could not be taken up in the middle")
    if source.is_growing:
        raise UnsupportedError(f"{reason}: a trajectory that grows is read in several")
    return Serial()


def _compounds(atoms: "AtomGroup", compound: str) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    """Return the atoms of each compound, one behind the other, and where each ends."""
    if compound == "group":
        return atoms.ix.astype(np.uint32), np.array([len(atoms)], np.uint64)
    try:
        indices = getattr(atoms, _INDEX_OF[compound])
    except AttributeError as error:
        raise SelectionError(f"the topology does not say which atoms {compound} have") from error
    order = np.argsort(indices, kind="stable")
    _, counts = np.unique(indices, return_counts=True)
    return atoms.ix[order].astype(np.uint32), np.cumsum(counts).astype(np.uint64)
