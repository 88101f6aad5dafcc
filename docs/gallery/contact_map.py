"""Contact map.

Each point shows the fraction of frames in which two Cα atoms are less than 8 Å apart.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

ca = mda.Universe(PSF, DCD).select_atoms("name CA")
run = mdreel.DistanceArray(ca, cutoff=8.0).run()
figure, axes = plt.subplots(figsize=(5.4, 4.4), layout="constrained")
drawn = axes.imshow(
    run.results.contact_frequency,
    origin="lower",
    cmap="Blues",
    extent=(0.5, 214.5, 0.5, 214.5),
)
axes.set(xlabel="Residue", ylabel="Residue", title="Contacts below 8 Å")
figure.colorbar(drawn, label="Fraction of frames")
figure.savefig("contact_map.png", dpi=150)
