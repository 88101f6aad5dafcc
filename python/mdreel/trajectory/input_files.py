"""Input files of an analysis."""

from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

from mdreel._core import Source


def files_of(trajectory: Any) -> list[str]:
    """Return the files of an MDAnalysis reader, a source, or paths. For other trajectories, the list is empty."""
    if isinstance(trajectory, Source):
        return [str(facts["path"]) for facts in trajectory.describe() if "path" in facts]
    if isinstance(trajectory, (str, PathLike)):
        return [str(fspath(trajectory))]
    if isinstance(trajectory, Sequence) and not hasattr(trajectory, "ts"):
        return [str(fspath(one)) for one in trajectory]
    readers = getattr(trajectory, "readers", [trajectory])
    names = [getattr(reader, "filename", None) for reader in readers]
    return [str(fspath(name)) for name in names if isinstance(name, (str, PathLike))]


def input_facts(universe: Any, trajectory: Any) -> dict[str, str]:
    """Return metadata about the topology and the trajectory, which are the names of their files, if there are any.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The Universe of the analysis.
    trajectory : path, sequence of paths, Source or MDAnalysis reader
        The trajectory.
    """
    topology, files = getattr(universe, "filename", None), files_of(trajectory)
    facts = {"topology": fspath(topology)} if isinstance(topology, (str, PathLike)) else {}
    return {**facts, "trajectory": " ".join(files)} if files else facts
