"""Native contacts.

The curve shows the fraction of salt bridges from the first frame that remain. A soft
cutoff avoids sudden jumps.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

u = mda.Universe(PSF, DCD)
acidic = u.select_atoms("resname ASP GLU and name OD* OE*")
basic = u.select_atoms("resname ARG LYS and name NH* NZ")
run = mdreel.Contacts(
    u, (acidic, basic), (acidic, basic), method="soft_cut", radius=6.0
).run()
run.plot(title="Salt bridges from the first frame").savefig("native_contacts.png")
