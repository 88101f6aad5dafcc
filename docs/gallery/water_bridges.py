"""Water bridges over time.

The curve shows the number of chains of hydrogen bonds from the lid of adenylate
kinase to its core, through at most two waters.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import TPR, XTC

from mdreel.analysis import WaterBridgeAnalysis

lid, core = "protein and resid 122:159", "protein and resid 1:121 160:214"
run = WaterBridgeAnalysis(mda.Universe(TPR, XTC), lid, core, order=2, pbc=True).run()
run.plot(title="Water bridges from lid to core").savefig("water_bridges.png")
