"""Solvent accessible surface over time.

The solvent accessible surface area of adenylate kinase increases as the protein opens.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
run = mdreel.SASA(u.select_atoms("protein"), mode="total").run(step=4)
run.plot(title="Surface of adenylate kinase").savefig("sasa.png")
