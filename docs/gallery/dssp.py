"""Secondary structure over time.

The colours show the state of each residue in each frame, by the method of Kabsch and
Sander.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

run = mdreel.DSSP(mda.Universe(PSF, DCD), method="kabsch-sander").run()
run.plot(title="Secondary structure of adenylate kinase").savefig("dssp.png")
