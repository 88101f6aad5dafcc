"""Radial distribution around single atoms.

Each curve shows the mean distribution of water around one of the four sodium ions in a
box that contains adenylate kinase.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import TPR, XTC

import mdreel

u = mda.Universe(TPR, XTC)
ions, oxygens = u.select_atoms("name NA"), u.select_atoms("name OW")
run = mdreel.InterRDF_s(u, [(ions, oxygens)], nbins=75, range=(0.0, 10.0)).run()
figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
for ion, rdf in zip(ions, run.results.rdf[0], strict=True):
    axes.plot(run.results.bins, rdf.mean(axis=0), label=f"sodium {ion.index}")
axes.set(xlabel="Distance (Å)", ylabel="g(r)")
axes.legend()
figure.savefig("rdf_sites.png", dpi=150)
