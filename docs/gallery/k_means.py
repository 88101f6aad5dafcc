"""Clusters of projections.

Frames are points in the plane of the first two principal components. K-means divides
them into three clusters. A cross marks the frame that represents each cluster.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from mdreel.analysis import KMeansClustering

u = mda.Universe(PSF, DCD)
atoms = u.select_atoms("protein and name CA")
pca = mdreel.PCA(atoms, align=True).run()
points = pca.transform(atoms, n_components=2, superposition=True)
run = KMeansClustering(atoms, n_clusters=3, features=points).run()
figure, axes = plt.subplots(figsize=(6, 4.5), layout="constrained")
for number in range(3):
    part = points[run.results.labels == number]
    axes.plot(*part.T, "o", label=f"cluster {number}", markersize=4)
axes.plot(*points[run.results.centers].T, "kx", label="centre", markersize=10, mew=2)
axes.set(xlabel="Component 1 (Å)", ylabel="Component 2 (Å)", title="Clusters of frames")
axes.legend()
figure.savefig("k_means.png", dpi=150)
