"""On-the-fly transformations that unwrap, wrap, centre or superpose atoms, or undo jumps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Source, Transformation, centered, superposed, whole, without_jumps, wrapped
from mdreel.analysis.choices import Scheme
from mdreel.analysis.topology.matching import MASS_TOLERANCE, Matching
from mdreel.analysis.topology.reference import are_atoms
from mdreel.analysis.topology.spanning_forest import SpanningForest
from mdreel.analysis.topology.weights import weights_of
from mdreel.errors import MismatchError, SelectionError, UnsupportedError
from mdreel.execution.executors.executor import Executor
from mdreel.execution.executors.local.serial import Serial
from mdreel.foundation.arguments import checked_arguments
from mdreel.trajectory.selection import Selection

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

Compound: TypeAlias = Literal["atoms", "group", "segments", "residues", "molecules", "fragments"]
"""Groups of atoms that move together."""

_INDEX_OF = {"segments": "segindices", "residues": "resindices", "molecules": "molnums", "fragments": "fragindices"}


@checked_arguments
def unwrap(atomgroup: AtomGroup, reference: Literal["com", "cog"] | None = None) -> Transformation:
    """Make molecules whole by moving each atom to the image nearest to a bonded atom.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        Atoms whose fragments are made whole. A fragment consists of all atoms that are connected by bonds.
    reference : {"com", "cog"}, optional
        If given, entire fragments are moved so that their centre of mass or geometry is in the primary cell. By
        default, the first atom of each fragment keeps its position.

    Returns
    -------
    Transformation
        The transformation, for `run(transformations=...)`.

    Raises
    ------
    SelectionError
        If the group is empty, or if the topology lacks bonds or required masses.
    MismatchError
        If the reference is unknown. In `run`, if a frame has no cell.

    Notes
    -----
    Results agree with `MDAnalysis.transformations.unwrap`, or with `AtomGroup.unwrap` if a reference is given. In
    addition to the atoms of the analyses, mdreel reads only the other atoms of their fragments. Calculations use
    float64 and support cells of any shape. Positions are rounded to float32 only once.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> protein = mda.Universe(TPR, XTC).select_atoms("protein")
    >>> unwrap = mdreel.transformations.unwrap(protein)
    >>> radii = mdreel.Rg(protein).run(transformations=[unwrap]).results.rgyr[:, 2]
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


@checked_arguments
def wrap(atomgroup: AtomGroup, compound: Compound = "atoms", center: Literal["com", "cog"] = "com") -> Transformation:
    """Move atoms or compounds so that their centres are in the primary cell.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The atoms to move.
    compound : {"atoms", "group", "segments", "residues", "molecules", "fragments"}
        Units within the group whose atoms are moved together.
    center : {"com", "cog"}
        Whether to use the centre of mass or of geometry of a compound.

    Returns
    -------
    Transformation
        The transformation, for `run(transformations=...)`.

    Raises
    ------
    SelectionError
        If the group is empty, or if the topology lacks the compounds or required masses.
    MismatchError
        If the compound or the centre is unknown. In `run`, if a frame has no cell.

    Notes
    -----
    Results agree with `MDAnalysis.core.groups.AtomGroup.wrap`. The centre of a broken compound is meaningless, so
    `unwrap` compounds first.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> water = mda.Universe(TPR, XTC).select_atoms("resname SOL")
    >>> wrap = mdreel.transformations.wrap(water, compound="residues")
    >>> density = mdreel.LinearDensity(water, binsize=1.0).run(transformations=[wrap])
    >>> density.results.z.mass_density.shape == (density.nbins,)
    True
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


@checked_arguments
def center_in_box(
    atomgroup: AtomGroup,
    center: Literal["geometry", "mass"] = "geometry",
    point: ArrayLike | None = None,
    wrap: bool = False,
) -> Transformation:
    """Move all atoms so that the centre of a group is in the middle of the cell or at a given point.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The group.
    center : {"geometry", "mass"}
        Whether to use the centre of geometry or of mass.
    point : array_like, shape (3,), float64, optional
        Point in Å to which the centre is moved. The default is the middle of the cell in each frame.
    wrap : bool
        Whether to compute the centre from the images of the atoms in the primary cell.

    Returns
    -------
    Transformation
        The transformation, for `run(transformations=...)`.

    Raises
    ------
    SelectionError
        If the group is empty, or if the topology lacks required masses.
    MismatchError
        If the centre is unknown, or if the point has the wrong shape. In `run`, if a frame lacks a required cell.

    Notes
    -----
    Results agree with `MDAnalysis.transformations.center_in_box`. mdreel reads the atoms of the group in addition to
    the atoms of the analyses.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from mdreel.transformations import center_in_box, unwrap
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> protein = mda.Universe(TPR, XTC).select_atoms("protein")
    >>> steps = [unwrap(protein), center_in_box(protein)]
    >>> mdreel.RMSF(protein).run(transformations=steps).results.rmsf.shape
    (3341,)
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


@checked_arguments
def fit_rot_trans(
    atomgroup: AtomGroup,
    reference: AtomGroup | ArrayLike,
    weights: Literal["mass"] | ArrayLike | None = None,
    *,
    tol_mass: float = MASS_TOLERANCE,
    match_atoms: bool = True,
) -> Transformation:
    """Translate and rotate all atoms so that a group is superposed on a reference.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The group.
    reference : MDAnalysis.AtomGroup or array_like, shape (n_atoms, 3), float64
        Group with the same number of atoms in the same order, whose positions in the current frame are used, or an
        array of positions in Å.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        Weight of each atom.
    tol_mass : float
        Largest allowed difference between the masses of corresponding atoms, in amu.
    match_atoms : bool
        Whether to check that the atoms of the reference correspond to the selected atoms. Corresponding atoms have the
        same masses, and the same names and residues in the same order. If False, atoms are compared in the given order
        without this check.

    Returns
    -------
    Transformation
        The transformation, for `run(transformations=...)`.

    Raises
    ------
    SelectionError
        If the group is empty, or if the topology lacks required masses.
    MismatchError
        If the reference or the weights do not match the group, or if the atoms do not correspond to the reference
        atoms. In `run`, if a coordinate of the group is not finite.

    Notes
    -----
    Results agree with `MDAnalysis.transformations.fit_rot_trans`. Velocities and forces are rotated together with the
    atoms, but the cell is not. mdreel reads the atoms of the group in addition to the atoms of the analyses. Periodic
    images are ignored, so `unwrap` molecules first.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> alpha = mda.Universe(PSF, DCD).select_atoms("name CA")
    >>> fit = mdreel.transformations.fit_rot_trans(alpha, alpha)
    >>> float(mdreel.RMSF(alpha).run(transformations=[fit]).results.rmsf.max().round(2))
    5.73
    """
    selection = Selection.of(atomgroup)
    positions = reference
    if are_atoms(reference):
        reference = reference.atoms
        Matching(tol_mass, match_atoms).check(atomgroup, reference)
        positions = reference.positions
    points = selection.gather(np.asarray(positions, np.float64), "reference")
    return superposed(selection.atoms, points, selection.add_up(weights_of(atomgroup, weights)))


@checked_arguments
def nojump(scheme: Scheme = "lattice") -> Transformation:
    """Undo jumps of atoms across cell boundaries, so that their paths are continuous.

    Parameters
    ----------
    scheme : {"lattice", "toroidal"}
        Quantity to conserve if the cell size changes: the number of cells that an atom has crossed, or the
        displacements of the atom. If the cell size is constant, both schemes give the same result.

    Returns
    -------
    Transformation
        The transformation, for `run(transformations=...)`.

    Raises
    ------
    UnsupportedError
        If the scheme is unknown. In `run`, with executors other than serial and threads, with a checkpoint, or for a
        growing trajectory.

    Notes
    -----
    Because each frame depends on the previous one, a single worker reads all frames in order. Atoms must not move by
    more than half a cell between consecutive frames of the run. ``"lattice"`` uses the nearest image in fractional
    coordinates (Kulke and Vermaas, J. Chem. Theory Comput. 18 (2022) 6161). MDAnalysis's `NoJump` rounds fractional
    coordinates. In cells with angles far from 90 degrees, its results differ for atoms that move by more than half the
    smallest height of the cell. At constant pressure with ``"lattice"``, an atom many cells away moves with the
    fluctuations of the cell. ``"toroidal"`` avoids this (von Bülow, Bullerjahn and Hummer, J. Chem. Phys. 153 (2020)
    021101; Bullerjahn et al., J. Chem. Theory Comput. 19 (2023) 3406), but pulls the atoms of a molecule apart unless
    the molecule is whole.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> oxygens = mda.Universe(TPR, XTC).select_atoms("name OW")[:10]
    >>> nojump = mdreel.transformations.nojump()
    >>> mdreel.EinsteinMSD(oxygens).run(transformations=[nojump]).results.timeseries.shape
    (10,)
    """
    return without_jumps(scheme)


def transformed(source: Source, transformations: Sequence[Transformation]) -> Source:
    """Return a trajectory whose frames are transformed as they are read.

    Raises
    ------
    MismatchError
        If an entry is not a transformation, or if it does not match the atoms of the trajectory.
    """
    for one in transformations:
        if not isinstance(one, Transformation):
            raise MismatchError(f"expected a transformation made by unwrap, wrap, ..., got {type(one).__name__}")
    return source.with_transformations(list(transformations)) if transformations else source


def executor_in_order(
    source: Source, executor: Executor, n_parts: int | None, has_checkpoint: bool, reasons: Sequence[str] = ()
) -> Executor:
    """Return the executor for a trajectory. It is serial if a transformation or an analysis needs frames in order.

    Parameters
    ----------
    source : Source
        The trajectory.
    executor : Executor
        The executor chosen by the user.
    n_parts : int or None
        The number of blocks chosen by the user.
    has_checkpoint : bool
        Whether the run writes a checkpoint.
    reasons : sequence of str
        Reasons why analyses need all frames in order.

    Raises
    ------
    UnsupportedError
        If frames are needed in order, but the executor or the options of the run do not allow this.
    """
    if any(one.needs_order for one in source.transformations):
        reasons = ["nojump needs all frames in order in one block", *reasons]
    if not reasons:
        return executor
    reason = reasons[0]
    if executor.name not in ("serial", "threads"):
        raise UnsupportedError(f"{reason}: use the backend 'serial' instead of {executor.name!r}")
    if n_parts not in (None, 1):
        raise UnsupportedError(f"{reason}: n_parts must be 1, not {n_parts}")
    if has_checkpoint:
        raise UnsupportedError(f"{reason}: run without a checkpoint")
    if source.is_growing:
        raise UnsupportedError(f"{reason}: a growing trajectory is read in several blocks")
    return Serial()


def _compounds(atoms: AtomGroup, compound: str) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    """Return the atoms of all compounds, one compound after the other, and the end of each compound."""
    if compound == "group":
        return atoms.ix.astype(np.uint32), np.array([len(atoms)], np.uint64)
    try:
        indices = getattr(atoms, _INDEX_OF[compound])
    except AttributeError as error:
        raise SelectionError(f"the topology has no {compound}: use another compound") from error
    order = np.argsort(indices, kind="stable")
    _, counts = np.unique(indices, return_counts=True)
    return atoms.ix[order].astype(np.uint32), np.cumsum(counts).astype(np.uint64)
