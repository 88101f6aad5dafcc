"""Trajectories of users as data of benchmarks: repeated to a length, and converted to a format."""

import hashlib
import tempfile
import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil
from pathlib import Path

from mdreel_lab.bench.data import FORMS


@lru_cache(maxsize=32)
def length_of(trajectory: str) -> int:
    """Return the number of frames of a trajectory.

    Raise an `OSError` if it cannot be read, also where its format is unknown.
    """
    from mdreel.trajectory.open import open as open_trajectory

    return open_trajectory(trajectory).n_frames


@dataclass(frozen=True)
class OwnData:
    """A topology and a trajectory of a user, at a length; other files go into a folder.

    A trajectory that is longer than the file repeats its frames in order, as in the papers, which concatenated a
    trajectory 50 to 600 times. Times are those of the file, repeated as well. If the file is not used ``in_place``, a
    copy is made even if the file has the right length and format.
    """

    topology: Path
    trajectory: Path
    n_frames: int
    folder: Path
    in_place: bool = True

    @cached_property
    def name(self) -> str:
        """The name of its files: that of the trajectory, with a mark for its path, size and date."""
        facts = self.trajectory.stat()
        mark = hashlib.sha256(f"{self.trajectory}\0{facts.st_size}\0{facts.st_mtime_ns}".encode()).hexdigest()[:8]
        return f"{self.trajectory.stem}-{mark}"

    def path(self, form: str) -> Path:
        """Return the trajectory in one of ``FORMS``: the file itself where its length and format are right."""
        ending = FORMS[form]
        is_right = self.in_place and self.trajectory.suffix == ending
        if is_right and length_of(str(self.trajectory)) == self.n_frames:
            return self.trajectory
        return self.folder / f"{self.name}-{self.n_frames}{ending}"

    def make(self, form: str) -> Path:
        """Make the trajectory in a format unless it exists, and return it. The file appears when it is complete."""
        from mdreel.trajectory.convert import convert

        path = self.path(form)
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            n_copies = ceil(self.n_frames / length_of(str(self.trajectory)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about times, which repeat
                convert(n_copies * [str(self.trajectory)], path, stop=self.n_frames)
        return path

    @property
    def reference(self) -> Path:
        """The first frame as a PDB file: topology for mdtraj, reference for GROMACS."""
        return self.folder / f"{self.name}.pdb"

    def make_reference(self) -> Path:
        """Make the PDB file unless it exists, and return it."""
        import MDAnalysis as mda

        from mdreel.foundation.atomic_files import replacing_by_ending
        from mdreel.trajectory.convert import convert

        path = self.reference
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            with warnings.catch_warnings(), tempfile.TemporaryDirectory(dir=self.folder) as made:
                warnings.simplefilter("ignore")
                first = Path(made, "first.trr")  # MDAnalysis would write an index beside the file of the user
                convert(str(self.trajectory), first, stop=1)
                source = mda.Universe(str(self.topology), str(first))
                with replacing_by_ending(path) as temporary:
                    source.atoms.write(str(temporary))
        return path
