"""Residue contacts.

Each point shows the fraction of frames in which two residues of adenylate kinase are in
contact, which means that two of their heavy atoms are at most 4.5 Å apart.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

run = mdreel.ResidueContacts(mda.Universe(PSF, DCD)).run()
run.plot(title="Residue contacts").savefig("residue_contacts.png", dpi=150)
