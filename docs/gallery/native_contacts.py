"""Native contacts.

The curve shows how many of the salt bridges of the first frame remain. A soft cutoff
avoids jumps.
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
run.plot(title="Salt bridges of the first frame").savefig("native_contacts.png")
