"""Solvent accessible surface by residue.

The curve shows the mean area of each residue. Residues in the core of the protein are
hardly accessible to the solvent.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
run = mdreel.SASA(u.select_atoms("protein"), mode="residue", average=True).run(step=10)
run.plot(title="Surface of adenylate kinase").savefig("sasa_residues.png")
