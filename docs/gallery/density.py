"""Density of water around a protein.

The figure shows a slice through the mean density of the water oxygens. In each frame,
mdreel makes the protein whole and moves it to the middle of the cell, where it leaves a
hole in the water density.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import TPR, XTC

import mdreel
from mdreel.transformations import center_in_box, unwrap, wrap

u = mda.Universe(TPR, XTC)
protein, water = u.select_atoms("protein"), u.select_atoms("name OW")
steps = [unwrap(protein), center_in_box(protein), wrap(water)]
run = mdreel.DensityAnalysis(water, delta=2.0).run(transformations=steps)
density = run.results.density
middle = density.grid.shape[2] // 2
values = density.grid[:, :, middle - 2 : middle + 2].mean(axis=2)

figure, axes = plt.subplots(figsize=(5.4, 4.2), layout="constrained")
drawn = axes.pcolormesh(*density.edges[:2], values.T, cmap="Blues")
axes.set(xlabel="x (Å)", ylabel="y (Å)", aspect="equal", xlim=(20, 100), ylim=(20, 100))
figure.colorbar(drawn, label="Density (Å⁻³)")
figure.savefig("density.png", dpi=150)
