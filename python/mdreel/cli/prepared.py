"""What is asked, with everything opened that it needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from mdreel.cli.exits import ExitCode, failing_with

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.base.analysis import Analysis
    from mdreel.analysis.base.observer import ResultsView
    from mdreel.cli.analysing import Asked, Request
    from mdreel.results.column import Column


@dataclass(frozen=True)
class Prepared:
    """Analyses that can be run.

    Attributes
    ----------
    source : Source
        The trajectory.
    groups : list of AtomGroup
        The atoms of each question.
    analyses : list of Analysis
        The analysis of each.
    topology_seconds : float
        How long topology, selections and references took, s.
    """

    source: "Source"
    groups: "list[AtomGroup]"
    analyses: "list[Analysis]"
    topology_seconds: float

    def shown(self, asked: "Sequence[Asked]") -> "list[ResultsView]":
        """Return what `mdreel watch` shows of each analysis: its table."""
        from mdreel.analysis.base.observer import ResultsView

        def columns_of(one: "Asked", analysis: "Analysis") -> "Sequence[Column]":
            return one.question.tabulate(analysis).columns

        each = zip(asked, self.analyses, strict=True)
        return [ResultsView(one.question.title, partial(columns_of, one, analysis)) for one, analysis in each]


def prepare(request: "Request", asked: "Sequence[Asked]") -> Prepared:
    """Open trajectory and topology, and make the analyses."""
    from mdreel.cli.system import open_topology, select
    from mdreel.cli.transforming import transformed

    with failing_with(ExitCode.INPUT):
        # First, for it takes no time, and to import MDAnalysis does.
        source = request.open()
    since = perf_counter()
    universe = open_topology(request.topology)
    groups = [select(universe, one.selection, request.topology) for one in asked]
    with failing_with(ExitCode.INPUT):
        source = transformed(source, universe, request.transforms, request.center_on, request.topology)
        analyses = [one.question.prepare(atoms, source) for one, atoms in zip(asked, groups, strict=True)]
    return Prepared(source, groups, analyses, perf_counter() - since)
