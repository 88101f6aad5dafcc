"""Network of interactions.

Lines join residues of the lid of adenylate kinase with other residues. The colour shows
the interaction, and the width the fraction of frames in which it is present.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

from mdreel.analysis import InteractionFingerprint

u = mda.Universe(PSF, DCD)
lid, core = u.select_atoms("resid 122:159"), u.select_atoms("resid 1:121 160:214")
run = InteractionFingerprint(
    lid, core, ["Cationic", "Anionic", "HBDonor", "HBAcceptor"]
).run()
run.plot_network(0.5, title="Polar interactions of the lid").savefig(
    "fingerprint_network.png"
)
