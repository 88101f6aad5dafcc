"""TM-score and GDT of a protein that opens.

The scores compare each frame with the first one. They stay above 0.5 as long as the
fold is the same, although two domains move.
"""

import MDAnalysis as mda
from MDAnalysisTests.datafiles import DCD, PSF

from mdreel.analysis import TMScore

scores = TMScore(mda.Universe(PSF, DCD)).run()
figure = scores.plot(title="Adenylate kinase, compared with the first frame")
figure.savefig("structure_scores.png")
