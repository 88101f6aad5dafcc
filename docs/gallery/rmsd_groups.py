"""RMSD of domains.

mdreel superposes each frame on the core of adenylate kinase. The curves of the LID and
NMP domains therefore show how far these domains move relative to the core.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

core = "name CA and (resid 1:29 or resid 60:121 or resid 160:214)"
domains = {"LID": "name CA and resid 122:159", "NMP": "name CA and resid 30:59"}
run = mdreel.RMSD(mda.Universe(PSF, DCD), select=core, groupselections=domains).run()

figure = run.plot(title="Domains, superposed on the core")
figure.savefig("rmsd_groups.png")
