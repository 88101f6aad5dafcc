"""Variance of the principal components.

The first principal component of the Cα atoms describes most of the opening of adenylate
kinase.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

pca = mdreel.PCA(mda.Universe(PSF, DCD), select="protein and name CA", align=True).run()
pca.plot(title="Variance of the Cα atoms").savefig("pca_variance.png")
