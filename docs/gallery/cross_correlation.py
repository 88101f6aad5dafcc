"""Correlated motions of residues.

Residues that move together are red, residues that move in opposite directions are
blue. The LID (residues 122 to 159) and the AMP-binding domain (30 to 59) of adenylate
kinase approach each other or move apart.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

from mdreel.analysis import CrossCorrelation

u = mda.Universe(PSF, DCD)
run = CrossCorrelation(u, select="protein and name CA", superposition=True).run()
run.plot(title="Cross-correlation of Cα atoms").savefig(
    "cross_correlation.png", dpi=150
)
