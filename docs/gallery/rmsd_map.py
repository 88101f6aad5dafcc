"""RMSD between all pairs of frames.

mdreel superposes each pair of frames. If the protein stayed in one conformation for
some time, you would see a dark square on the diagonal. The smooth band shows that the
transition is steady.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
run = mdreel.DistanceMatrix(u, select="protein and name CA", superposition=True).run()
run.plot(title="RMSD between pairs of frames").savefig("rmsd_map.png")
