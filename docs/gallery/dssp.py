"""Secondary structure over time.

The colours show the secondary structure of each residue in each frame, assigned with
the method of Kabsch and Sander.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

run = mdreel.DSSP(mda.Universe(PSF, DCD), method="kabsch-sander").run()
run.plot(title="Secondary structure of adenylate kinase").savefig("dssp.png")
