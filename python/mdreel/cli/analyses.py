"""The commands that run an analysis, in the order of the help; a recipe can ask for each."""

from collections.abc import Mapping

from mdreel.cli.analysing import AnalysisCommand
from mdreel.cli.contacts import contacts
from mdreel.cli.dihedrals import dihedrals
from mdreel.cli.distances import distances
from mdreel.cli.hbonds import hbonds
from mdreel.cli.helices import helices
from mdreel.cli.rdf import rdf
from mdreel.cli.rg import rg
from mdreel.cli.rmsd import rmsd
from mdreel.cli.rmsf import rmsf

ANALYSES: Mapping[str, AnalysisCommand] = {
    command.__name__: command for command in (rmsd, rmsf, rg, dihedrals, distances, helices, rdf, contacts, hbonds)
}
"""Commands by name."""
