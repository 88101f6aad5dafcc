"""Number of contacts.

The curve shows the number of pairs of Cα atoms that are at most 10 Å apart. As the
protein opens, the LID domain loses its contacts with the core.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
lid = u.select_atoms("name CA and resid 122:159")
core = u.select_atoms("name CA and (resid 1:29 or resid 60:115 or resid 166:214)")
run = mdreel.Contacts(u, (lid, core), None, method="count", radius=10.0).run()
run.plot(title="Contacts between LID domain and core").savefig("contact_counts.png")
