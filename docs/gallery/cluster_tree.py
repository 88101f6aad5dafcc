"""Tree of frames.

Each leaf is a frame. The height at which two branches merge is the mean RMSD between
their frames (average linkage). Below the dashed line at 2 Å, each cluster has a
colour. SciPy draws the tree.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF
from scipy.cluster.hierarchy import dendrogram

from mdreel.analysis import HierarchicalClustering

u = mda.Universe(PSF, DCD)
run = HierarchicalClustering(
    u, select="protein and name CA", method="average", cutoff=2.0
).run()
figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
dendrogram(
    run.results.linkage,
    ax=axes,
    color_threshold=2.0,
    no_labels=True,
    above_threshold_color="0.5",
)
axes.axhline(2.0, color="0.5", linestyle="--")
axes.set(xlabel="Frame", ylabel="Mean RMSD (Å)", title="Tree of frames")
figure.savefig("cluster_tree.png", dpi=150)
