"""Distances over time.

As adenylate kinase opens, the distances between the tips of its domains increase.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

ca = mda.Universe(PSF, DCD).select_atoms("name CA")
tip, others = ca.select_atoms("resid 148"), ca.select_atoms("resid 55 88 169")
run = mdreel.DistanceArray(tip, others).run()
figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
for atom, distances in zip(others, run.results.distances[:, 0].T, strict=True):
    axes.plot(run.times, distances, label=f"{atom.resname} {atom.resid}")
axes.set(xlabel="Time (ps)", ylabel=f"Distance from {tip[0].resname} 148 (Å)")
axes.legend()
figure.savefig("distances.png", dpi=150)
