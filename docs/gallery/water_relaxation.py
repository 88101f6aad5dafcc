"""Orientational relaxation of water.

The curves show how fast water molecules near a protein forget their orientation. The
frames of this trajectory are 100 ps apart, so little is left in the next frame.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import TPR, XTC

from mdreel.analysis import WaterOrientationalRelaxation

shell = "name OW and around 3.5 protein"
water = WaterOrientationalRelaxation(mda.Universe(TPR, XTC), shell, tau_max=8).run()
figure = water.plot(title="Water within 3.5 Å of the protein")
figure.savefig("water_relaxation.png")
