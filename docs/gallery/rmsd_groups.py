"""RMSD of domains.

Each frame is superposed on the CORE domain of adenylate kinase. The LID and the NMP
domain then show how far they move relative to it.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

core = "name CA and (resid 1:29 or resid 60:121 or resid 160:214)"
lid, nmp = "name CA and resid 122:159", "name CA and resid 30:59"
run = mdreel.RMSD(mda.Universe(PSF, DCD), select=core, groupselections=[lid, nmp]).run()

figure = run.plot(title="Domains, superposed on the core")
figure.savefig("rmsd_groups.png")
