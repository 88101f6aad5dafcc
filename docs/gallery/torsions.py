"""Torsions of a loop.

The columns show the distributions of the angles φ and ψ of six residues in the LID
domain.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
run = mdreel.Dihedrals(u.select_atoms("resid 140:145"), kinds=("phi", "psi")).run()
run.plot(title="Backbone of residues 140 to 145").savefig("torsions.png")
