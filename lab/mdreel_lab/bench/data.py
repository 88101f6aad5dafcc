"""Systems that benchmarks read, made once from the trajectories of MDAnalysisTests and kept.

The published timings use long simulations that nobody can download in a test run. A stand-in repeats the frames of a
short, real simulation and adds Gaussian noise to every coordinate. Its frames therefore differ, and compressed frames
have the size of those of a real simulation. The noise is seeded: the same command makes the same frames everywhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mdreel.errors import UnsupportedError
from mdreel.foundation.atomic_files import replacing, replacing_by_ending
from mdreel_lab.bench.records import write_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOISE = 0.05
"""Standard deviation of the noise on each coordinate, Å."""

SEED = 20160709
"""Seed of the noise."""

FORMS: Mapping[str, str] = {"xtc": ".xtc", "trr": ".trr", "dcd": ".dcd", "ncdf": ".nc", "h5md": ".h5md"}
"""The trajectory formats and their endings."""

SELECTION = "protein and name CA"
"""The atoms whose RMSD is computed."""

SYSTEMS: Mapping[str, tuple[str, str, str]] = {"adk": ("PSF", "DCD", "adk.psf"), "water": ("GRO", "XTC", "water.gro")}
"""The systems: topology and trajectory by their names in MDAnalysisTests, and what the topology is called here."""

N_ATOMS: Mapping[str, int] = {"adk": 3_341, "water": 47_681}
"""Numbers of atoms of the systems."""

UNIQUE_FRAMES = 41_870
"""Frames of a stand-in that differ. Longer files repeat them, as the papers repeat their trajectory."""

PUBLISHED_FRAMES = 4_187
"""Frames of the trajectory of adenylate kinase in the papers of 2017 to 2019, which they repeat 50 to 600 times."""


@dataclass(frozen=True)
class System:
    """One benchmark system with the paths of its files, which need not exist yet."""

    name: str
    n_frames: int
    folder: Path

    @property
    def topology(self) -> Path:
        """The topology."""
        return self.folder / SYSTEMS[self.name][2]

    @property
    def reference(self) -> Path:
        """The first frame, as a PDB file: topology for mdtraj, reference for GROMACS."""
        return self.folder / f"{self.name}.pdb"

    def selection(self, place: str) -> Path:
        """Return a file of 0-based atom indices, one a line: the Cα atoms, or as many atoms at the end of the frame."""
        return self.folder / f"{self.name}-{place}.txt"

    def trajectory(self, form: str) -> Path:
        """Return the trajectory of one format, one of ``FORMS``."""
        return self.folder / f"{self.name}-{self.n_frames}{FORMS[form]}"


def bytes_of_frame(form: str, n_atoms: int) -> int:
    """Estimate the size of a frame in a file of one of `FORMS`."""
    return 200 + (4 if form == "xtc" else 12) * n_atoms


def make(name: str, n_frames: int, folder: Path, forms: Sequence[str] = ("xtc", "dcd"), *, scan: bool = True) -> System:
    """Make the files of a system that are not there yet, and return it.

    Every file is written under a temporary name and renamed when it is complete. With `scan`, MDAnalysis opens the
    files: it scans an XTC file when it first opens it, and stores the offsets, which its job should not include. Raise
    an `UnsupportedError` if MDAnalysisTests is not installed, or an `OSError` if the files cannot be written.
    """
    import MDAnalysis as mda

    try:
        from MDAnalysisTests import datafiles
    except ImportError as error:
        raise UnsupportedError(
            "the data of benchmarks are made of those of MDAnalysisTests: pip install 'mdreel[demo]'"
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder.mkdir(parents=True, exist_ok=True)
        system = System(name, n_frames, folder)
        topology, trajectory = (getattr(datafiles, of_package) for of_package in SYSTEMS[name][:2])
        source = mda.Universe(topology, trajectory)
        if not system.topology.exists():
            with replacing(system.topology) as temporary:
                temporary.write_bytes(Path(topology).read_bytes())
        _write_structure(source, system)
        missing = [system.trajectory(form) for form in forms if not system.trajectory(form).exists()]
        if missing and n_frames > UNIQUE_FRAMES:
            _repeat_frames(make(name, UNIQUE_FRAMES, folder, ("xtc",), scan=False), n_frames, missing)
        elif missing:
            _write_trajectories(source, n_frames, missing)
        for form in forms if scan else ():
            mda.Universe(str(system.topology), str(system.trajectory(form)))
    return system


def _write_structure(source: Any, system: System) -> None:
    """Write the reference structure and the two selections."""
    chosen = source.select_atoms(SELECTION).indices
    n_atoms = source.atoms.n_atoms
    last = np.arange(n_atoms - len(chosen), n_atoms)
    for place, indices in (("start", chosen), ("end", last)):
        path = system.selection(place)
        if not path.exists():
            write_text(path, "".join(f"{index}\n" for index in indices))
    if not system.reference.exists():
        source.trajectory[0]
        source.atoms.positions = next(noisy(source.atoms.positions[np.newaxis], 1))
        with replacing_by_ending(system.reference) as temporary:
            source.atoms.write(str(temporary))


def _write_trajectories(source: Any, n_frames: int, paths: Sequence[Path]) -> None:
    """Write the same frames to every path, with MDAnalysis's writers."""
    import MDAnalysis as mda

    real = np.stack([frame.positions.copy() for frame in source.trajectory])
    cells = [None if frame.dimensions is None else frame.dimensions.copy() for frame in source.trajectory]
    dt = float(source.trajectory.dt)
    made = mda.Universe.empty(source.atoms.n_atoms, trajectory=True)
    # H5MD's writer asks for the units, which a trajectory in memory does not have.
    made.trajectory.units = {"time": "ps", "length": "Angstrom"}
    step = made.trajectory.ts
    # Only the writer of H5MD needs the names of the quantities to write.
    positions_alone = {"positions": True, "velocities": False, "forces": False}
    with ExitStack() as open_files:
        writers = []
        for path in paths:
            temporary = open_files.enter_context(replacing_by_ending(path))
            contents = positions_alone if path.suffix == FORMS["h5md"] else {}
            writer = mda.Writer(str(temporary), source.atoms.n_atoms, dt=dt, n_frames=n_frames, **contents)
            writers.append(open_files.enter_context(writer))
        for number, positions in enumerate(noisy(real, n_frames)):
            made.atoms.positions = positions
            step.dimensions = cells[number % len(cells)]
            step.frame = number
            step.time = number * dt
            for writer in writers:
                writer.write(made.atoms)


def _repeat_frames(base: System, n_frames: int, paths: Sequence[Path]) -> None:
    """Write the frames of a shorter system in turn, to H5MD with the chunks of MDAnalysis: one frame each."""
    from mdreel.trajectory.convert import convert
    from mdreel.trajectory.repack import repack

    for path in paths:
        several = -(-n_frames // base.n_frames) * [str(base.trajectory("xtc"))]
        if path.suffix == FORMS["h5md"]:
            repack(several, path, chunk=(1, N_ATOMS[base.name]), stop=n_frames)
        else:
            convert(several, path, stop=n_frames)


def noisy(real: NDArray[np.float32], n_frames: int) -> Iterator[NDArray[np.float32]]:
    """Repeat real frames, shape (n_real, n_atoms, 3), Å, in turn and with noise; yield arrays of shape (n_atoms, 3)."""
    random = np.random.Generator(np.random.SFC64(SEED))
    for number in range(n_frames):
        noise = random.standard_normal(real.shape[1:], dtype=np.float32)
        noise *= NOISE
        noise += real[number % len(real)]
        yield noise
