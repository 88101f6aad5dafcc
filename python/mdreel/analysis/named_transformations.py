"""Transformations, identified by the names that recipes and the command line use."""

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

from mdreel._core import Source, Transformation
from mdreel.analysis.choices import TransformationName
from mdreel.analysis.topology.topology_file import select_atoms
from mdreel.analysis.transformations import center_in_box, nojump, transformed, unwrap, wrap

if TYPE_CHECKING:
    from MDAnalysis import Universe


def transformed_by_name(
    source: Source,
    universe: "Universe",
    names: Sequence[TransformationName],
    center_on: str,
    topology: str | PathLike[str],
) -> Source:
    """Return a trajectory whose frames are transformed as they are read.

    Parameters
    ----------
    source : Source
        The trajectory.
    universe : Universe
        All atoms.
    names : sequence of str
        Names of the transformations, in the order in which they are applied.
    center_on : str
        Selection of the atoms that ``"center"`` moves to the middle of the cell.
    topology : path
        The topology file, for use in error messages.

    Raises
    ------
    MdreelError
        If the topology lacks data that a transformation needs, such as bonds.
    """
    if not names:
        return source
    return transformed(source, [_transformation(name, universe, center_on, topology) for name in names])


def _transformation(
    name: TransformationName, universe: "Universe", center_on: str, topology: str | PathLike[str]
) -> Transformation:
    match name:
        case "whole":
            return unwrap(universe.atoms)
        case "wrap-atoms":
            return wrap(universe.atoms)
        case "wrap-residues":
            return wrap(universe.atoms, "residues", "cog")
        case "wrap-fragments":
            return wrap(universe.atoms, "fragments", "cog")
        case "center":
            return center_in_box(select_atoms(universe, center_on, topology), "mass")
        case "nojump":
            return nojump()
