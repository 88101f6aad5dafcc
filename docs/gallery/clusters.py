"""Clusters of frames over time.

Frames with an RMSD of at most 1.5 Å from the centre of a cluster belong to it. The
largest cluster has number 0. The protein passes through the clusters one after the
other and returns to none of them.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

from mdreel.analysis import GromosClustering

u = mda.Universe(PSF, DCD)
run = GromosClustering(u, select="protein and name CA", cutoff=1.5).run()
run.plot(title="Clusters of frames").savefig("clusters.png")
