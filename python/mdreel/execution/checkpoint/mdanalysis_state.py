"""State of MDAnalysis objects that determines a result."""

from __future__ import annotations

from typing import Any

import numpy as np


def parts_of_mdanalysis(what: Any) -> list[Any] | None:
    """Return what a group of atoms, or a Universe, is made of; None of anything else.

    Notes
    -----
    Their pickles are of no use here: these hold caches, which depend on what was asked before.
    """
    names = {kind.__name__ for kind in type(what).__mro__ if kind.__module__.startswith("MDAnalysis.core.")}
    if "GroupBase" in names:
        return [type(what).__name__, what.ix, what.universe]
    if "Universe" in names:
        topology = what._topology  # noqa: SLF001 (it has no public name, and is what a Universe is made of)
        # Those without values say which atoms there are, and which residues these are of: the table says so, too.
        attributes = {str(one.attrname): one.values for one in topology.attrs if hasattr(one, "values")}
        table = topology.tt
        return [
            table.size,
            table.atoms2residues(None),
            table.residues2segments(None),
            *[part for name in sorted(attributes) for part in (name, _as_array(attributes[name]))],
            *_frame(what),
        ]
    return None


def _as_array(values: Any) -> Any:
    """Return bonds and the like as an array: they are as many as the atoms."""
    try:
        return np.array(values, np.int64) if isinstance(values, (list, tuple)) else values
    except (ValueError, TypeError):  # they are of different lengths, or no numbers
        return values


def _frame(universe: Any) -> list[Any]:
    """Return the trajectory of a Universe, and the coordinates that its groups have now."""
    trajectory = getattr(universe, "trajectory", None)  # there is none without coordinates
    if trajectory is None:
        return []
    ts = trajectory.ts
    return [str(trajectory.filename), trajectory.n_frames, ts.frame, ts.positions if ts.has_positions else None]
