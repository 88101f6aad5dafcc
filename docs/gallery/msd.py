"""Mean square displacement.

A straight line is fitted to the mean square displacement of 100 random walkers. The
slope of this line gives the diffusion coefficient.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import RANDOM_WALK, RANDOM_WALK_TOPO

import mdreel

run = mdreel.EinsteinMSD(
    mda.Universe(RANDOM_WALK_TOPO, RANDOM_WALK), select="all"
).run()
run.plot(title="Random walk").savefig("msd.png")
