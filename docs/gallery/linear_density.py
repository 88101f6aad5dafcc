"""Density profile along an axis.

The curves show the mass density of water and protein along the z axis of the cell. In
each frame, mdreel moves the protein to the middle of the cell.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import TPR_xvf, TRR_xvf

import mdreel
from mdreel.transformations import center_in_box, unwrap

u = mda.Universe(TPR_xvf, TRR_xvf)
protein = u.select_atoms("protein")
steps = [unwrap(u.atoms), center_in_box(protein)]
figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
for name, group in {"water": u.select_atoms("resname SOL"), "protein": protein}.items():
    z = mdreel.LinearDensity(group, binsize=1.0).run(transformations=steps).results.z
    axes.stairs(z.mass_density, z.hist_bin_edges, label=name, linewidth=2)
axes.set(xlabel="z (Å)", ylabel="Mass density (g/cm³)", xlim=(0, 52))
axes.legend()
figure.savefig("linear_density.png", dpi=150)
