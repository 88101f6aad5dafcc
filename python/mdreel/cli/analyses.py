"""The commands that run an analysis, in the order of the help; a recipe can ask for each."""

from collections.abc import Mapping

from mdreel.cli.analysing import AnalysisCommand
from mdreel.cli.density import density
from mdreel.cli.dihedrals import dihedrals
from mdreel.cli.distances import distances
from mdreel.cli.end_to_end import end_to_end
from mdreel.cli.helices import helices
from mdreel.cli.msd import msd
from mdreel.cli.rg import rg
from mdreel.cli.rmsd import rmsd
from mdreel.cli.rmsf import rmsf

ANALYSES: Mapping[str, AnalysisCommand] = {
    command.__name__.replace("_", "-"): command
    for command in (rmsd, rmsf, rg, dihedrals, distances, helices, msd, end_to_end, density)
}
"""Commands by name."""
