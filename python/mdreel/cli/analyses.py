"""The commands that run an analysis, in the order of the help; a recipe can ask for each."""

from collections.abc import Mapping

from mdreel.cli.analysing import AnalysisCommand
from mdreel.cli.average import average
from mdreel.cli.contacts import contacts
from mdreel.cli.density import density
from mdreel.cli.dihedrals import dihedrals
from mdreel.cli.distances import distances
from mdreel.cli.dssp import dssp
from mdreel.cli.end_to_end import end_to_end
from mdreel.cli.hbonds import hbonds
from mdreel.cli.helices import helices
from mdreel.cli.linear_density import linear_density
from mdreel.cli.msd import msd
from mdreel.cli.pca import pca
from mdreel.cli.rdf import rdf
from mdreel.cli.rg import rg
from mdreel.cli.rmsd import rmsd
from mdreel.cli.rmsd2d import rmsd2d
from mdreel.cli.rmsf import rmsf
from mdreel.cli.sasa import sasa

_COMMANDS = (
    rmsd,
    rmsf,
    rmsd2d,
    average,
    pca,
    rg,
    dihedrals,
    distances,
    end_to_end,
    helices,
    dssp,
    sasa,
    rdf,
    contacts,
    hbonds,
    density,
    linear_density,
    msd,
)

ANALYSES: Mapping[str, AnalysisCommand] = {command.__name__.replace("_", "-"): command for command in _COMMANDS}
"""Commands by name."""
