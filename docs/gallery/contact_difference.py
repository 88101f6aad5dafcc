"""Difference between two contact maps.

Adenylate kinase opens during the simulation. Red contacts are more frequent in the
second half, blue contacts in the first half.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
closed = mdreel.ResidueContacts(u, scheme="ca", cutoff=12.0).run(stop=49)
opened = mdreel.ResidueContacts(u, scheme="ca", cutoff=12.0).run(start=49)
figure = opened.plot_difference(closed, title="Contacts, second half minus first half")
figure.savefig("contact_difference.png", dpi=150)
