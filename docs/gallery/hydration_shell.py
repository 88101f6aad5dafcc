"""Hydration shell over time.

In each frame, mdreel selects and counts the water molecules within 3.5 Å of the
protein.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import TPR, XTC

import mdreel

shell = mdreel.Selection(mda.Universe(TPR, XTC), "name OW and around 3.5 protein").run()
shell.plot(title="Water within 3.5 Å of the protein").savefig("hydration_shell.png")
