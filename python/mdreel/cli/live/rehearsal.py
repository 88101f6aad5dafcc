"""Trial of rules on one frame, before an engine is started."""

import warnings
from typing import TYPE_CHECKING

import numpy as np

from mdreel.cli.analyses.request import AnalysisRequest
from mdreel.cli.errors import ExitCode, failing_with
from mdreel.cli.live.rules_file import RulesFile
from mdreel.errors import MdreelError

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

    from mdreel._core import Source

_SPACING = 3.0
"""Distance between atoms whose positions are unknown, Å."""


def rehearse(task: RulesFile) -> None:
    """Check selections and columns of rules on the structure of the topology, if the topology already exists.

    A topology without positions gets atoms on a lattice. An analysis that fails on this frame could succeed on frames
    of the simulation. Therefore, its columns are not checked.

    Raises
    ------
    CommandError
        If a selection matches no atoms, or if a rule refers to an unknown column.
    """
    from mdreel.analysis.topology.topology_file import open_topology, select_atoms
    from mdreel.live.steering.steer import column_of_rule

    if not task.request.topology.exists():
        return
    with failing_with(ExitCode.INPUT):
        universe = open_topology(task.request.topology, task.request.index)
        groups = {
            name: select_atoms(universe, one.selection, task.request.topology) for name, one in task.analyses.items()
        }
    source = _one_frame(universe)
    for name, one in task.analyses.items():
        columns = _columns(one, groups[name], source)
        if columns is None:
            continue
        with failing_with(ExitCode.INPUT):
            for rule in task.plan.rule:
                if rule.analysis == name:
                    column_of_rule(rule, columns)


def _one_frame(universe: "Universe") -> "Source":
    """Give a Universe one frame, with the positions of the topology or of a lattice, and return the frame."""
    from MDAnalysis import NoDataError
    from MDAnalysis.coordinates.memory import MemoryReader

    from mdreel.trajectory.universe import source_of

    n_atoms = len(universe.atoms)
    side = int(np.ceil(n_atoms ** (1 / 3)))
    try:
        positions, cell = universe.atoms.positions, universe.dimensions
    except (NoDataError, AttributeError):
        places = np.unravel_index(np.arange(n_atoms), (side, side, side))
        positions, cell = _SPACING * np.stack(places, axis=1).astype(np.float32), None
    if cell is None:
        cell = [2 * _SPACING * side + np.ptp(positions)] * 3 + [90.0] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return source_of(universe.load_new(positions[None], format=MemoryReader, dimensions=np.array([cell])))


def _columns(one: AnalysisRequest, atoms: "AtomGroup", source: "Source") -> dict[str, object] | None:
    """Return the columns of an analysis by name, or None if it fails on one frame."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            analysis = one.spec.prepare(atoms, source)
            analysis.run(n_workers=1, verbose=False)
            columns = one.spec.tabulate(analysis).columns
        except MdreelError:
            return None
    return {column.name: column.values for column in columns if column.name not in ("frame", "time")}
