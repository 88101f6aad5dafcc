"""RMSD of all pairs of frames.

mdreel superposes each pair of frames. A dark square on the diagonal would show a
conformation that lasts. The smooth band shows a steady transition.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
run = mdreel.DistanceMatrix(u, select="protein and name CA", superposition=True).run()
run.plot(title="RMSD of pairs of frames").savefig("rmsd_map.png")
