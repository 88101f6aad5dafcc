"""Local distances of each residue that are preserved (lDDT).

The lDDT is low where the surroundings of a residue change. It needs no superposition,
so motions of whole domains lower it only at their hinges and surfaces.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

from mdreel.analysis import LDDT

local = LDDT(mda.Universe(PSF, DCD)).run()
figure = local.plot_residues(title="Adenylate kinase, compared with the first frame")
figure.savefig("lddt_residues.png")
