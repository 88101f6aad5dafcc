"""Density of backbone torsions.

The picture counts the torsions of the Ramachandran plot in bins of 5 degrees. The
scale is logarithmic.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
run = mdreel.Ramachandran(u.select_atoms("resid 2:213")).run()
run.plot_distribution(title="Backbone of adenylate kinase").savefig(
    "ramachandran_density.png"
)
