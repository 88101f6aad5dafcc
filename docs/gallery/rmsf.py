"""RMSF by residue.

mdreel superposes all frames on the first frame. The peaks are in the LID domain
(residues 122 to 159) and in the NMP domain (residues 30 to 59).
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
run = mdreel.RMSF(u.select_atoms("protein and name CA"), superposition=True).run()
run.plot(title="Fluctuation of the Cα atoms").savefig("rmsf.png")
