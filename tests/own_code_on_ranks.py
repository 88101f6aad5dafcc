"""A program for ranks: own reducers, own analyses and analyses of MDAnalysis, of which each rank keeps the results.

One leaves a file, which one rank writes.
"""

import sys
from pathlib import Path

import MDAnalysis
import numpy as np
from MDAnalysis.analysis.dihedrals import Ramachandran
from MDAnalysisTests.datafiles import PSF

import mdreel
from mdreel.execution.executors.mpi.launcher import launched


class CentreOfMass(mdreel.AnalysisBase):
    def _prepare(self) -> None:
        self.results.centre = np.zeros((self.n_frames, 3))

    def _single_frame(self) -> None:
        self.results.centre[self._frame_index] = self.atomgroup.center_of_mass()


def found(path: str, backend: str, folder: Path) -> dict[str, np.ndarray]:
    universe = MDAnalysis.Universe(PSF, path)
    atoms = universe.select_atoms("name CA")
    reducer = mdreel.analysis.Reducer(lambda one, other: one + other)
    numbers = mdreel.from_function(lambda p: p[:, 0, 0].tolist(), atoms, per="block", reduce=reducer)
    average = mdreel.AverageStructure(universe, select="name CA", filename=folder / f"{backend}.gro")
    return {
        "average": average.run(backend=backend).results.positions,
        "centre": CentreOfMass(atoms).run(backend=backend).results.centre,
        "angles": Ramachandran(atoms.residues).run(backend=mdreel.mdanalysis.backend(backend)).results.angles,
        "numbers": np.array(numbers.run(backend=backend).results.value),
    }


if __name__ == "__main__":
    place = launched()
    assert place is not None
    np.savez(Path(sys.argv[1]) / f"rank{place.rank}.npz", **found(sys.argv[2], "mpi", Path(sys.argv[1])))  # type: ignore[arg-type]
