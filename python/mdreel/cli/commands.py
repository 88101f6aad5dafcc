"""The table of all commands.

This module does not import any command. `load` imports a command when it is run or when its own help is shown. To add a
new analysis, add a line here.
"""

import os
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import click

ENTRY_POINTS = "mdreel.commands"
"""Entry point group that other packages use to add commands, as ``name = "package.module:command"``."""


_PACKAGES = (".dist-info", ".egg-info")
_SECTION = re.compile(rf"^\[{re.escape(ENTRY_POINTS)}\]$(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^([\w-]+)\s*=\s*([\w.]+):(\w+)", re.MULTILINE)


class Entry(NamedTuple):
    """A command, with its name, the module that defines it, its short help, and its name in this module."""

    name: str
    module: str
    help: str
    attribute: str = ""


ANALYSES = (
    Entry("rmsd", "mdreel.cli.analyses.rmsd", "RMSD of a selection from a reference structure or frame."),
    Entry("rmsf", "mdreel.cli.analyses.rmsf", "Fluctuation of each atom about its mean position."),
    Entry("rmsd2d", "mdreel.cli.analyses.rmsd2d", "RMSD between all pairs of frames."),
    Entry(
        "compare",
        "mdreel.cli.analyses.compare",
        "lDDT, TM-score, GDT, native contacts or residue RMSD against a reference.",
    ),
    Entry("cluster-frames", "mdreel.cli.analyses.cluster_frames", "Clusters of frames with similar shapes."),
    Entry("average", "mdreel.cli.analyses.average", "Average structure after superposition."),
    Entry("pca", "mdreel.cli.analyses.pca", "Principal components of the motion of a selection."),
    Entry("projection", "mdreel.cli.analyses.projection", "Projection of frames on the first principal components."),
    Entry(
        "cross-correlation",
        "mdreel.cli.analyses.cross_correlation",
        "Correlations between the motions of atoms (DCCM, mutual information).",
    ),
    Entry("rg", "mdreel.cli.analyses.rg", "Radius of gyration."),
    Entry("dihedrals", "mdreel.cli.analyses.dihedrals", "Torsions of a protein: phi, psi, omega, chi1 to chi4."),
    Entry("dihedral", "mdreel.cli.analyses.dihedral", "Dihedral angles of any four atoms."),
    Entry("ramachandran", "mdreel.cli.analyses.ramachandran", "Backbone torsions phi and psi of each residue."),
    Entry("janin", "mdreel.cli.analyses.janin", "Side chain torsions chi1 and chi2 of each residue."),
    Entry("distances", "mdreel.cli.analyses.distances", "Distances between pairs of atoms over time, or their means."),
    Entry("end-to-end", "mdreel.cli.analyses.end_to_end", "End-to-end distances of chains."),
    Entry("helices", "mdreel.cli.analyses.helices", "Largest eigenvalues of distance matrices for helices."),
    Entry("dssp", "mdreel.cli.analyses.dssp", "Secondary structure of a protein (DSSP)."),
    Entry("sasa", "mdreel.cli.analyses.sasa", "Solvent-accessible surface area."),
    Entry("rdf", "mdreel.cli.analyses.rdf", "Radial distribution function between two selections."),
    Entry("site-rdf", "mdreel.cli.analyses.site_rdf", "Radial distribution function for each pair of atoms."),
    Entry("contacts", "mdreel.cli.analyses.contacts", "Native contacts, or the number of contacts."),
    Entry(
        "residue-contacts",
        "mdreel.cli.analyses.residue_contacts",
        "Contacts between residues, with frequencies and lifetimes.",
    ),
    Entry("fingerprint", "mdreel.cli.analyses.fingerprint", "Interactions between residues, as in ProLIF."),
    Entry("hbonds", "mdreel.cli.analyses.hbonds", "Hydrogen bonds and their lifetimes."),
    Entry("water-bridges", "mdreel.cli.analyses.water_bridges", "Water bridges between two selections."),
    Entry("density", "mdreel.cli.analyses.density", "Density of atoms on a grid."),
    Entry("linear-density", "mdreel.cli.analyses.linear_density", "Mass and charge density along x, y and z."),
    Entry("select", "mdreel.cli.analyses.select", "Atoms that a selection matches in each frame."),
    Entry("survival", "mdreel.cli.analyses.survival", "Survival probability and residence time in a shell."),
    Entry("water-relaxation", "mdreel.cli.analyses.water_relaxation", "Orientational relaxation of water in a shell."),
    Entry("msd", "mdreel.cli.analyses.msd", "Mean square displacement and diffusion coefficient."),
)
TRAJECTORIES = (
    Entry("info", "mdreel.cli.trajectory.info", "Show atoms, frames, times, box, size and format of a trajectory."),
    Entry("check", "mdreel.cli.trajectory.check", "Check trajectories for damage and irregular times."),
    Entry("convert", "mdreel.cli.trajectory.convert", "Convert a trajectory, or a part of it, to another format."),
    Entry("align", "mdreel.cli.trajectory.align", "Superpose all frames on a reference, and write them."),
    Entry("split", "mdreel.cli.trajectory.split", "Split a trajectory into several files."),
    Entry("concat", "mdreel.cli.trajectory.concat", "Join several trajectories into one file."),
    Entry("repack", "mdreel.cli.trajectory.repack", "Store a trajectory in H5MD, chunked for the expected access."),
)
SIMULATIONS = (
    Entry("channels", "mdreel.cli.live.channels", "List the channels on which simulations publish frames."),
    Entry("watch", "mdreel.cli.live.watch", "Watch running simulations and their analyses."),
    Entry("steer", "mdreel.cli.live.steer", "Stop, fork or change a simulation based on live results."),
    Entry("ensemble", "mdreel.cli.live.ensemble", "Run and analyse many replicas of a simulation."),
    Entry("archive", "mdreel.cli.live.archive", "Write the frames of a channel to a file."),
    Entry("produce", "mdreel.cli.live.produce", "Publish a trajectory on a channel, as a simulation would."),
    Entry("serve", "mdreel.cli.live.serve", "Serve channels to other nodes."),
    Entry("relay", "mdreel.cli.live.relay", "Make a channel on another node available on this node."),
    Entry("hub", "mdreel.cli.live.hub", "Serve many IMD clients from one engine or channel."),
    Entry("demo", "mdreel.cli.live.demo", "Run a simulation with live analyses, and watch it in a browser."),
    Entry("managed", "mdreel.cli.live.managed", "Publish files when they are complete, and wait for them."),
)
TABLES = (
    Entry("correlation", "mdreel.cli.tables.correlation", "Autocorrelation of table columns, and errors of means."),
)
RUNS = (
    Entry("run", "mdreel.cli.run.run", "Run several analyses from a recipe, reading each frame once."),
    Entry("advise", "mdreel.cli.run.advise", "Advise on file format, executor and workers for an analysis."),
    Entry("cluster", "mdreel.cli.run.cluster", "Write batch scripts for Slurm and PBS."),
    Entry("report", "mdreel.cli.run.report", "Create a page with the results and the timing of a run."),
)
GROUPS = {
    "Analyses": ANALYSES,
    "Tables of results": TABLES,
    "Trajectories": TRAJECTORIES,
    "Running simulations": SIMULATIONS,
    "Recipes, clusters and timing": RUNS,
}
PLUG_INS = "Commands of plug-ins"
LAB = ("bench", "predict")
"""The commands of mdreel-lab, a plug-in in the same repository. They are named here only for an error message."""

OPTIONS = {
    "--version": "Print the version.",
    "--install-completion [SHELL]": "Install completion for a shell.  [default: your shell]",
    "--show-completion [SHELL]": "Print the completion script of a shell.  [default: your shell]",
    "-h, --help": "Show this message and exit.",
}
"""The options of the main command."""


def groups() -> dict[str, tuple[Entry, ...]]:
    """Return all commands, sorted by the headings of the help."""
    added = tuple(plug_ins())
    return {**GROUPS, PLUG_INS: added} if added else dict(GROUPS)


def find(name: str) -> Entry | None:
    """Return the command with a given name. Plug-ins are searched only if mdreel does not have such a command."""
    own = (entry for entries in GROUPS.values() for entry in entries)
    return next((entry for entry in own if entry.name == name), None) or next(
        (entry for entry in plug_ins() if entry.name == name), None
    )


def load(entry: Entry) -> "click.Command":
    """Import a command."""
    found: Any = getattr(import_module(entry.module), entry.attribute or entry.name.replace("-", "_"))
    command: click.Command = found
    return command


def plug_ins() -> Iterator[Entry]:
    """Find the commands that other packages add through entry points.

    Notes
    -----
    The function parses the entry point files itself, which takes about 2 ms, whereas `importlib.metadata` takes 50 ms.
    """
    seen = set()
    for text in _entry_point_files():
        section = _SECTION.search(text)
        for name, module, attribute in _LINE.findall(section[1] if section else ""):
            if name not in seen:
                seen.add(name)
                yield Entry(name, module, _first_line(module), attribute)


def _entry_point_files() -> Iterator[str]:
    """Read the entry point files of all installed packages whose entry points include the group."""
    for folder in dict.fromkeys(sys.path):
        try:
            names = [one for one in os.listdir(folder or ".") if one.endswith(_PACKAGES)]  # noqa: PTH208 (as below)
        except OSError:
            continue
        for name in names:
            try:
                # Not `pathlib`, whose import takes longer than the search.
                with open(f"{folder or '.'}/{name}/entry_points.txt", encoding="utf-8") as file:  # noqa: PTH123
                    text = file.read()
            except OSError:
                continue
            if ENTRY_POINTS in text:
                yield text


def _first_line(module: str) -> str:
    """Return the first line of a module's docstring, without importing the module."""
    try:
        spec = find_spec(module)
        if spec is None or spec.origin is None:
            return ""
        with open(spec.origin, encoding="utf-8") as file:  # noqa: PTH123 (as above)
            return file.readline().strip().strip('"')
    except (OSError, ImportError):
        return ""
