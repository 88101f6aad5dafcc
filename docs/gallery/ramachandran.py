"""Ramachandran plot.

The points show the torsion angles φ and ψ of all residues in all frames. The shaded
regions contain 90 and 99 % of the residues in the reference structures.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
run = mdreel.Ramachandran(u.select_atoms("resid 2:213")).run()
figure, axes = plt.subplots(figsize=(5, 4.8), layout="constrained")
run.plot(axes, ref=True, s=4, color="#0072B2", linewidths=0)
axes.set_aspect("equal")
figure.savefig("ramachandran.png", dpi=150)
