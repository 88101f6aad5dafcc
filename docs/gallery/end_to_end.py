"""End-to-end distances.

Each curve shows the distance between the first and the last Cα atom of one domain of
adenylate kinase.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

ca = mda.Universe(PSF, DCD).select_atoms("name CA")
domains = {
    "LID": ca.select_atoms("resid 122:159"),
    "NMP": ca.select_atoms("resid 30:59"),
}
run = mdreel.EndToEnd(domains).run()
run.plot(title="First to last Cα atom of each domain").savefig("end_to_end.png")
