"""RMSD of all pairs of frames.

Each pair of frames has its own superposition. Dark squares on the diagonal would be
conformations that last; the smooth band shows a steady transition.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
run = mdreel.DistanceMatrix(u, select="protein and name CA", superposition=True).run()
run.plot(title="RMSD of pairs of frames").savefig("rmsd_map.png")
