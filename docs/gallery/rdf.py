"""Radial distribution function of water.

The curve shows the radial distribution function of the oxygen atoms of 11,084 water
molecules. The first peak, at 2.8 Å, is the shell of hydrogen-bonded neighbours.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import TPR, XTC

import mdreel

oxygens = mda.Universe(TPR, XTC).select_atoms("name OW")
run = mdreel.InterRDF(
    oxygens, oxygens, nbins=150, range=(0.0, 12.0), exclusion_block=(1, 1)
).run()
run.plot(title="Oxygen atoms of water").savefig("rdf.png")
