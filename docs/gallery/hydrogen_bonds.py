"""Hydrogen bonds over time.

The curve shows the number of hydrogen bonds within adenylate kinase in each frame.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

run = mdreel.HydrogenBondAnalysis(mda.Universe(PSF, DCD)).run()
run.plot(title="Hydrogen bonds of adenylate kinase").savefig("hydrogen_bonds.png")
