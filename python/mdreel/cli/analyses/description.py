"""Descriptions of command-line runs, for records and reports."""

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mdreel.analysis.base.run_description import frames_text, plotted
from mdreel.cli.analyses.request import AnalysisRequest, Request
from mdreel.foundation.urls import without_secrets
from mdreel.timing.run_description import AnalysisDescription, RunDescription

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel.analysis.base.analysis import Analysis


def command_line() -> str:
    """Return the command that the user typed, without secrets in URLs."""
    words = ["mdreel", *(word.encode(errors="replace").decode() for word in sys.argv[1:])]
    return without_secrets(shlex.join(words))


def describe_run(request: Request, each: "Sequence[tuple[AnalysisRequest, AtomGroup, Analysis]]") -> RunDescription:
    """Describe a finished run. The description includes plots if a report is requested.

    Parameters
    ----------
    request : Request
        The options that all analyses share.
    each : sequence of tuple of AnalysisRequest, AtomGroup and Analysis
        The request, the atoms and the finished analysis of each analysis.
    """
    described = tuple(_describe(one, len(atoms), analysis, request) for one, atoms, analysis in each)
    first = each[0][2]
    topology, trajectory = (without_secrets(text) for text in (str(request.topology), request.input))
    return RunDescription(command_line(), topology, trajectory, frames_text(first.frames, first.times), described)


def _describe(one: AnalysisRequest, n_atoms: int, analysis: Any, request: Request) -> AnalysisDescription:
    table = one.spec.tabulate(analysis)
    described = AnalysisDescription(one.spec.title, one.selection, n_atoms, table.summary)
    return described if request.report is None else plotted(described, lambda: table.figure(""))
