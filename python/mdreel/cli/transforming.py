"""What is done with frames before a command looks at them, from the names of options to transformations."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mdreel.cli.options import Transform
from mdreel.cli.system import select

if TYPE_CHECKING:
    from MDAnalysis import Universe

    from mdreel._core import Source, Transformation


def transformed(
    source: "Source", universe: "Universe", transforms: Sequence[Transform] | None, center_on: str, topology: Path
) -> "Source":
    """Return a trajectory whose frames are transformed as they are read."""
    if not transforms:
        return source
    from mdreel.analysis import transformations

    made = [_transformation(transform, universe, center_on, topology) for transform in transforms]
    return transformations.transformed(source, made)


def _transformation(transform: Transform, universe: "Universe", center_on: str, topology: Path) -> "Transformation":
    from mdreel.analysis.transformations import center_in_box, nojump, unwrap, wrap

    match transform:
        case Transform.WHOLE:
            return unwrap(universe.atoms)
        case Transform.WRAP_ATOMS:
            return wrap(universe.atoms)
        case Transform.WRAP_RESIDUES:
            return wrap(universe.atoms, "residues", "cog")
        case Transform.WRAP_FRAGMENTS:
            return wrap(universe.atoms, "fragments", "cog")
        case Transform.CENTER:
            return center_in_box(select(universe, center_on, topology), "mass")
        case Transform.NOJUMP:
            return nojump()
