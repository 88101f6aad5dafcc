"""Make adk_dims_ca.f32 and adk_dims_ca_rmsd.csv: MDAnalysis's own RMSD of the Cα atoms of a real trajectory.

The trajectory is the transition of adenylate kinase (98 frames) in the package MDAnalysisTests. The coordinates are
those of the 214 Cα atoms, float32 little-endian, frame after frame, atom after atom, x y z, in Å. The reference is
frame 0; atom i has the weight 1 + i % 7 where weights are used.

    python tests/golden/make_adk_dims_ca.py
"""

from pathlib import Path

import MDAnalysis
import numpy as np
from MDAnalysis.analysis.rms import RMSD, rmsd
from MDAnalysisTests.datafiles import DCD, PSF

FOLDER = Path(__file__).parent


def main() -> None:
    """Write both files next to this script."""
    universe = MDAnalysis.Universe(PSF, DCD)
    atoms = universe.select_atoms("name CA")
    weights = 1.0 + np.arange(len(atoms)) % 7
    plain = RMSD(atoms, ref_frame=0).run().results.rmsd[:, 2]
    weighted = RMSD(atoms, ref_frame=0, weights=weights).run().results.rmsd[:, 2]
    coordinates = np.array([atoms.positions for _ in universe.trajectory], dtype="<f4")
    reference = coordinates[0].astype(np.float64)
    as_is = [rmsd(frame.astype(np.float64), reference) for frame in coordinates]
    weighted_as_is = [rmsd(frame.astype(np.float64), reference, weights=weights) for frame in coordinates]
    (FOLDER / "adk_dims_ca.f32").write_bytes(coordinates.tobytes())
    rows = zip(plain, weighted, as_is, weighted_as_is, strict=True)
    lines = [f"# MDAnalysis {MDAnalysis.__version__}", "superposed,weighted,as_is,weighted_as_is"]
    lines += [",".join(f"{float(value):.17g}" for value in row) for row in rows]
    (FOLDER / "adk_dims_ca_rmsd.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
