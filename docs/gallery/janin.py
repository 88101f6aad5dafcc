"""Janin plot.

The points show the torsion angles χ1 and χ2 of the side chains. The shaded regions
contain 90 and 99 % of the residues in the reference structures.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
run = mdreel.Janin(
    u.select_atoms("protein and not resname ALA CYS GLY PRO SER THR VAL")
).run()
figure, axes = plt.subplots(figsize=(5, 4.8), layout="constrained")
run.plot(axes, ref=True, s=4, color="#0072B2", linewidths=0)
axes.set_aspect("equal")
figure.savefig("janin.png", dpi=150)
