"""Density of backbone torsions.

This figure shows how often the torsion angles of the Ramachandran plot fall into bins
of 5 degrees. Note the logarithmic scale.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
run = mdreel.Ramachandran(u.select_atoms("resid 2:213")).run()
run.plot_distribution(title="Backbone of adenylate kinase").savefig(
    "ramachandran_density.png"
)
