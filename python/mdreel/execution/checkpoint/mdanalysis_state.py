"""The part of the state of MDAnalysis objects that affects results."""

from __future__ import annotations

from typing import Any

import numpy as np


def parts_of_mdanalysis(what: Any) -> list[Any] | None:
    """Return the state of a group of atoms or a Universe, or None for any other object.

    Notes
    -----
    Pickles are not suitable for this purpose, because they contain caches that depend on earlier calls.
    """
    names = {kind.__name__ for kind in type(what).__mro__ if kind.__module__.startswith("MDAnalysis.core.")}
    if "GroupBase" in names:
        return [type(what).__name__, what.ix, what.universe]
    if "Universe" in names:
        topology = what._topology  # noqa: SLF001 (the topology of a Universe has no public name)
        # Attributes without values describe atoms and residues, which the table contains as well.
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
    """Return a list, such as the list of bonds, as an array."""
    try:
        return np.array(values, np.int64) if isinstance(values, (list, tuple)) else values
    except (ValueError, TypeError):  # items of different lengths, or not numbers
        return values


def _frame(universe: Any) -> list[Any]:
    """Return the trajectory of a Universe, and its current coordinates."""
    trajectory = getattr(universe, "trajectory", None)  # a Universe without coordinates has none
    if trajectory is None:
        return []
    ts = trajectory.ts
    return [str(trajectory.filename), trajectory.n_frames, ts.frame, ts.positions if ts.has_positions else None]
