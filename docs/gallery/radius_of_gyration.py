"""Radius of gyration.

Adenylate kinase becomes less compact as it opens.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
run = mdreel.Rg(u.select_atoms("protein")).run()
run.plot(title="Radius of gyration of adenylate kinase").savefig(
    "radius_of_gyration.png"
)
