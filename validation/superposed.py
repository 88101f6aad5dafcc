"""What is computed after optimal superposition: against MDAnalysis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import MDAnalysis
from comparison import SINGLE, Compared, apart, systems
from MDAnalysis.analysis import rms

import mdreel

CORE = "protein and name CA and (resid 1:29 or resid 60:121 or resid 160:214)"
DOMAINS = ["protein and name CA and resid 122:159", "protein and backbone and resid 30:59"]


def compare(folder: Path) -> Iterator[Compared]:
    """Compare."""
    for name, universe, _ in systems():
        yield from groups(name, universe)


def groups(name: str, universe: MDAnalysis.Universe) -> Iterator[Compared]:
    """Compare the RMSD of groups after the superposition of others."""
    note = "the peer moves coordinates in single precision"
    for title, weights in (("RMSD of groups", None), ("RMSD of groups, weighted by mass", "mass")):
        core = universe.select_atoms(CORE)
        ours = mdreel.RMSD(core, weights=weights, groupselections=DOMAINS).run().results.rmsd
        peer = rms.RMSD(universe, select=CORE, weights=weights, groupselections=DOMAINS).run()
        yield Compared(title, name, "MDAnalysis", apart(ours[:, 3:], peer.results.rmsd[:, 3:]), SINGLE, "Å", note)
