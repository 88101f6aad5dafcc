"""Block averages.

Block averaging estimates the error of a mean from blocks of increasing length. If the
estimate is still growing with the block length, the trajectory is too short to
determine the error.
"""

import matplotlib.pyplot as plt
import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

ca = mda.Universe(PSF, DCD).select_atoms("name CA")
length = mdreel.EndToEnd([ca]).run().results.distances[:, 0]
blocks = mdreel.analysis.block_averages(length)
figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
axes.errorbar(
    blocks.lengths, blocks.errors, blocks.uncertainties, marker="o", capsize=4
)
axes.set_xscale("log", base=2)
axes.set(xlabel="Frames per block", ylabel="Error of the mean (Å)", ylim=(0, None))
figure.savefig("block_averages.png", dpi=150)
