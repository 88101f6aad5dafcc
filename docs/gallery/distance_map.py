"""Mean distances.

Each point shows the mean distance of two Cα atoms. With a cutoff, mdreel keeps means
and variances, and no single distance.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

ca = mda.Universe(PSF, DCD).select_atoms("name CA")
run = mdreel.DistanceArray(ca, cutoff=8.0).run()
run.plot(title="Mean distances of Cα atoms").savefig("distance_map.png")
