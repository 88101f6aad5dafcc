"""Mean distances.

Each point shows the mean distance between two Cα atoms. With a cutoff, mdreel stores
only means and variances instead of the distances in every frame.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel

ca = mda.Universe(PSF, DCD).select_atoms("name CA")
run = mdreel.DistanceArray(ca, cutoff=8.0).run()
run.plot(title="Mean distances between Cα atoms").savefig("distance_map.png")
