"""Your own function.

With mdreel, you can apply your own function of the positions to every frame. The
function in this example computes the angle between the LID domain and the core of
adenylate kinase.
"""

import MDAnalysis as mda
import numpy as np
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel


def lid_angle(hinge, core, lid):
    """Return the angle between two domains at a hinge, in degrees."""
    a, b = core.mean(axis=0) - hinge.mean(axis=0), lid.mean(axis=0) - hinge.mean(axis=0)
    return np.degrees(np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))


ca = mda.Universe(PSF, DCD).select_atoms("name CA")
groups = [
    ca.select_atoms(f"resid {residues}")
    for residues in ("160:164 115:121", "90:100", "130:150")
]
run = mdreel.from_function(lid_angle, *groups).run()
run.plot(title="Angle of the LID domain (degrees)").savefig("own_function.png")
