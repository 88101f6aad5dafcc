"""RMSD over time.

Adenylate kinase opens within 98 frames. During this time, its Cα atoms move almost 7 Å
away from the first frame.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
run = mdreel.RMSD(u, select="protein and name CA").run()
run.plot(title="RMSD of the Cα atoms of adenylate kinase").savefig("rmsd.png")
