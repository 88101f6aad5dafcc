"""Projection on principal components.

Each point represents one frame in the plane of the first two principal components. The
colour shows the time.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
pca = mdreel.PCA(u, select="protein and name CA", align=True).run()
projection = pca.projection(u.select_atoms("protein and name CA"), 2).run()
projection.plot(title="Opening of adenylate kinase").savefig("pca_projection.png")
