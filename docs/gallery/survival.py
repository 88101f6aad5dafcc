"""Residence time of water.

The curve shows the fraction of water molecules that are still in the hydration shell
after a given time.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import TPR, XTC

import mdreel

shell = mdreel.Selection(mda.Universe(TPR, XTC), "name OW and around 3.5 protein").run()
figure = shell.plot_survival(tau_max=8, title="Water within 3.5 Å of the protein")
figure.savefig("survival.png")
