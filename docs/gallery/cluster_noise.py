"""Clusters of frames in regions of high density.

DBSCAN joins frames with enough neighbours into clusters. Frames between the clusters,
in which the protein moves fast, are noise.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

from mdreel.analysis import DensityClustering

u = mda.Universe(PSF, DCD)
alpha = "protein and name CA"
run = DensityClustering(u, alpha, cutoff=0.7, min_frames=10).run()
run.plot(title="Clusters of high density").savefig("cluster_noise.png")
