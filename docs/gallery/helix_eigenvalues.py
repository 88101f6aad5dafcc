"""Helix shapes.

Each helix is described by a single number: the largest eigenvalue of the matrix of
distances between its Cα atoms. This number changes if the helix bends or unwinds.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from mdreel.analysis.helices import helices_of

u = mda.Universe(PSF, DCD)
helices = helices_of(u.select_atoms("protein"))[:6]
run = mdreel.HelixEigenvalues(helices).run()
run.plot(title="Eigenvalues of six helices").savefig("helix_eigenvalues.png")
