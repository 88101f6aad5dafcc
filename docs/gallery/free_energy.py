r"""Free energy in the plane of two principal components.

The free energy is $-k_\mathrm{B} T \ln p$, where $p$ is the smoothed density of the
frames. Note that this trajectory is a forced transition of 98 frames. The figure
therefore illustrates the method, but not the thermodynamics of the protein.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
import numpy as np
from MDAnalysisTests.datafiles import DCD, PSF
from scipy.stats import gaussian_kde

import mdreel

ca = mda.Universe(PSF, DCD).select_atoms("protein and name CA")
pca = mdreel.PCA(ca, align=True).run()
x, y = pca.projection(ca, 2).run().results.projection.T
grid = np.mgrid[x.min() - 8 : x.max() + 8 : 120j, y.min() - 8 : y.max() + 8 : 120j]
energy = -2.494 * np.log(
    gaussian_kde([x, y])(grid.reshape(2, -1)).reshape(grid[0].shape)
)  # kJ/mol at 300 K

figure, axes = plt.subplots(figsize=(5.4, 4.2), layout="constrained")
drawn = axes.contourf(
    *grid, np.minimum(energy - energy.min(), 15), levels=15, cmap="viridis"
)
axes.plot(x, y, ".", color="white", markersize=3)
axes.set(xlabel="Component 1 (Å)", ylabel="Component 2 (Å)")
figure.colorbar(drawn, label="Free energy (kJ/mol)")
figure.savefig("free_energy.png", dpi=150)
