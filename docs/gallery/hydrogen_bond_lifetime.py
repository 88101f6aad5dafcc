"""Hydrogen bond lifetime.

The curve shows the fraction of hydrogen bonds that still exist after a given time. With
`intermittency=1`, bonds that are broken for a single frame are included.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

run = mdreel.HydrogenBondAnalysis(mda.Universe(PSF, DCD)).run()
figure = run.plot_lifetime(
    tau_max=40, intermittency=1, title="Hydrogen bonds of adenylate kinase"
)
figure.savefig("hydrogen_bond_lifetime.png")
