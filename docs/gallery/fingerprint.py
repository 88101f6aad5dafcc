"""Interaction fingerprint.

Each bar shows the frames in which two residues of adenylate kinase have a salt bridge,
or in which a cation is above an aromatic ring. One of the residues belongs to the lid.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

from mdreel.analysis import InteractionFingerprint

u = mda.Universe(PSF, DCD)
lid, core = u.select_atoms("resid 122:159"), u.select_atoms("resid 1:121 160:214")
run = InteractionFingerprint(
    lid, core, ["Cationic", "Anionic", "PiStacking", "CationPi", "PiCation"]
).run()
run.plot(title="Interactions of the lid").savefig("fingerprint.png")
