"""Tests of subclasses written for MDAnalysis, and of analyses with updating groups."""

from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.base import AnalysisBase as TheirAnalysisBase
from MDAnalysis.analysis.results import ResultsGroup
from MDAnalysis.coordinates.memory import MemoryReader
from MDAnalysis.lib.distances import distance_array

import mdreel
from mdreel.errors import FunctionError, MismatchError, UnsupportedError
from peptide_system import peptide, peptide_positions

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
EXECUTORS: list[dict[str, Any]] = [
    {"backend": "serial"},
    {"backend": "threads", "n_workers": 1},
    {"backend": "threads", "n_workers": 3, "n_parts": 7},
    {"backend": "processes", "n_workers": 2, "n_parts": 5},
    {"backend": "dask", "n_workers": 2},
]


@pytest.fixture
def universe(tmp_path: Path) -> MDAnalysis.Universe:
    universe = peptide()
    positions = peptide_positions()[:24].copy()
    cells = np.array([[30 + i / 4, 32, 34, 80, 75 + i / 3, 70] for i in range(len(positions))], np.float32)
    universe.load_new(positions, format=MemoryReader, dimensions=cells, dt=2.5)
    universe.atoms.write(tmp_path / "frames.trr", frames="all")
    universe.load_new(str(tmp_path / "frames.trr"))
    universe.trajectory[3]
    return universe


def end_to_end(base: Any) -> Any:
    class EndToEnd(base):
        """Lists in attributes, which _conclude turns into results."""

        def __init__(self, atomgroup: Any, **kwargs: Any) -> None:
            super().__init__(atomgroup.universe.trajectory, **kwargs)
            self.atomgroup = atomgroup

        def _prepare(self) -> None:
            self.distances = []
            self.reference = None

        def _single_frame(self) -> None:
            if self._frame_index == 0:
                self.reference = self.atomgroup.positions
            moved = self.atomgroup.positions - self.reference
            self.distances.append(
                [np.linalg.norm(self.atomgroup.positions[0] - self.atomgroup.positions[-1]), *moved[1]]
            )

        def _conclude(self) -> None:
            self.results.distances = np.array(self.distances)
            self.results.last = self.results.distances[-1]

    return EndToEnd


def contacts(base: Any) -> Any:
    class Contacts(base):
        """Two groups, the cell, an atom selection that depends on positions, and numbers as results."""

        def __init__(self, first: Any, second: Any, cutoff: float = 4.0, verbose: bool = False) -> None:
            self.trajectory = first.universe.trajectory
            super().__init__(self.trajectory, verbose=verbose)
            self._groups = {"first": first, "second": second}
            self.u, self.atoms, self.cutoff = first.universe, first, cutoff
            self._atomgroup, self._selection = second, "name CA"

        def _prepare(self) -> None:
            self.results.n = np.zeros(self.n_frames)
            self.results.total = 0
            self.near = self.u.atoms

        def _single_frame(self) -> None:
            pairs = distance_array(
                self._groups["first"], self._groups["second"], box=self.trajectory.ts.dimensions, backend="serial"
            )
            self.near = self.u.select_atoms("around 4 group first", first=self.atoms)
            n = int((pairs < self.cutoff).sum()) + self.near.n_atoms + self._trajectory.frame + len(self._trajectory)
            self.results.n[self._frame_index] = n
            self.results.total += n

        def _conclude(self) -> None:
            self.results.mean = self.results.total / self.n_frames
            self.results.names = list(self.near.names)
            self.results.of_trajectory = self._trajectory.n_frames, self.near.universe is self.u

    return Contacts


def gyration(base: Any) -> Any:
    class Gyration(base):
        """An array in place of the results, and results in other attributes."""

        def __init__(self, atomgroup: Any, masses: Any = None, **kwargs: Any) -> None:
            super().__init__(atomgroup.universe.trajectory, **kwargs)
            self.atomgroup = atomgroup
            self.masses = atomgroup.masses if masses is None else masses

        def _prepare(self) -> None:
            self.results = np.zeros((self.n_frames, 3))

        def _single_frame(self) -> None:
            centre = self.atomgroup.center_of_mass()
            squares = ((self.atomgroup.positions - centre) ** 2).sum(axis=1)
            radius = np.sqrt((self.masses * squares).sum() / self.masses.sum())
            self.results[self._frame_index] = self._ts.frame, self._trajectory.time, radius

        def _conclude(self) -> None:
            self.average = self.results[:, 2].mean()
            self.results = {"table": self.results, "average": self.average, "times": self.times}

    return Gyration


def shell(base: Any) -> Any:
    class Shell(base):
        """Parallelizable, with an updating group and an aggregator."""

        _analysis_algorithm_is_parallelizable = True

        @classmethod
        def get_supported_backends(cls) -> tuple[str, ...]:
            return "serial", "multiprocessing", "dask"

        def __init__(self, atomgroup: Any, **kwargs: Any) -> None:
            super().__init__(atomgroup.universe.trajectory, **kwargs)
            self._ag = atomgroup
            self.shell = atomgroup.universe.select_atoms(
                "name C* and around 4 group core", core=atomgroup, updating=True
            )

        def _prepare(self) -> None:
            self.results.shell = np.zeros((self.n_frames, 4))

        def _single_frame(self) -> None:
            self.results.shell[self._frame_index] = self.shell.n_atoms, *self.shell.center_of_mass()

        def _get_aggregator(self) -> ResultsGroup:
            return ResultsGroup({"shell": ResultsGroup.ndarray_vstack})

    return Shell


# Subclasses as users of MDAnalysis write them, of MDAnalysis's base class and of mdreel's.
OURS, THEIRS = (
    {"EndToEnd": end_to_end(base), "Contacts": contacts(base), "Gyration": gyration(base), "Shell": shell(base)}
    for base in (mdreel.AnalysisBase, TheirAnalysisBase)
)


def groups(universe: MDAnalysis.Universe, name: str) -> tuple[Any, ...]:
    atoms = universe.select_atoms("resid 3-5")
    return (atoms, universe.select_atoms("name O")) if name == "Contacts" else (atoms,)


@pytest.mark.parametrize("options", [*EXECUTORS[:2], {}], ids=str)
@pytest.mark.parametrize("name", OURS)
def test_subclass_for_mdanalysis_runs_unchanged(
    universe: MDAnalysis.Universe, name: str, options: dict[str, Any]
) -> None:
    expected = THEIRS[name](*groups(universe, name)).run(start=2, step=3).results
    universe.trajectory[3]
    own = OURS[name](*groups(universe, name), verbose=False)
    assert "not run" in repr(own)
    found = own.run(start=2, step=3, **options).results
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-5)
        else:
            assert found[key] == value
    np.testing.assert_array_equal(own.frames, range(2, 24, 3))
    assert "8 frames" in repr(own)


def test_subclass_that_declares_it_runs_in_parallel(universe: MDAnalysis.Universe) -> None:
    bits = {OURS["Shell"](universe.select_atoms("resid 3-5")).run(**how).results.shell.tobytes() for how in EXECUTORS}
    assert len(bits) == 1


def test_subclass_that_does_not_declare_it_runs_in_one_block(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    own = OURS["EndToEnd"](universe.atoms[:9])
    for options in (
        {"backend": "processes"},
        {"n_parts": 2},
        {"checkpoint": tmp_path / "kept"},
        {"on_error": "skip"},
    ):
        with pytest.raises(UnsupportedError, match="EndToEnd needs all frames in order"):
            own.run(**options)
    mdreel.run([own, mdreel.Rg(universe.select_atoms("name CA"))])
    assert own.results.distances.shape == (24, 4)


def test_attributes_that_cannot_be_pickled_are_kept(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    class Writes(mdreel.AnalysisBase):
        def __init__(self, atoms: Any) -> None:
            super().__init__(atoms.universe.trajectory)
            self.group = atoms

        def _prepare(self) -> None:
            self.file = open(tmp_path / "out.txt", "w")  # noqa: SIM115, PTH123

        def _single_frame(self) -> None:
            self.file.write(f"{self._ts.frame}\n")

        def _conclude(self) -> None:
            self.file.close()

    Writes(universe.atoms[:3]).run()
    assert (tmp_path / "out.txt").read_text().split() == [*map(str, range(24))]


def test_trajectory_without_atoms_and_wrong_arguments_are_refused(universe: MDAnalysis.Universe) -> None:
    class Bare(mdreel.AnalysisBase):
        def _single_frame(self) -> None:
            self.results.n = 1

    with pytest.raises(MismatchError, match=r"Bare was made with a trajectory, but holds no atoms"):
        Bare(universe.trajectory).run()
    with pytest.raises(MismatchError, match="reads and trajectory need an AtomGroup"):
        Bare(universe.trajectory, reads=[universe.atoms])


class Changing(mdreel.AnalysisBase):
    """An analysis of updating groups that are passed and that are attributes."""

    def __init__(self, atomgroup: Any, *more: Any) -> None:
        super().__init__(atomgroup)
        self.more = {"all": list(more)}

    def _prepare(self) -> None:
        self.results.n = np.zeros((self.n_frames, 1 + len(self.more["all"])), int)
        self.results.centre = np.zeros((self.n_frames, 3))

    def _single_frame(self) -> None:
        self.results.n[self._frame_index] = [len(one) for one in (self.atomgroup, *self.more["all"])]
        self.results.centre[self._frame_index] = self.atomgroup.center_of_mass()


def changing_groups(universe: MDAnalysis.Universe) -> list[Any]:
    near = universe.select_atoms("byres around 4 resid 5", updating=True)
    return [
        near,
        universe.select_atoms("name CA", "prop z > 0", updating=True),
        near.select_atoms("prop x > 0 and name C*", updating=True),
        universe.select_atoms("resid 2-9").select_atoms("not around 3 group near", near=near, updating=True),
        universe.select_atoms("name C* and prop z > 0 and global around 3.5 name O", updating=True),
        universe.select_atoms("resid 4"),
    ]


@pytest.mark.parametrize("options", EXECUTORS, ids=lambda one: f"{one['backend']}-{one.get('n_workers')}")
def test_updating_groups_are_selected_in_each_frame(universe: MDAnalysis.Universe, options: dict[str, Any]) -> None:
    here = changing_groups(universe)
    expected = [([len(one) for one in here], here[0].center_of_mass()) for _ in universe.trajectory[1::2]]
    universe.trajectory[3]
    own = Changing(*changing_groups(universe)).run(start=1, step=2, **options)
    np.testing.assert_array_equal(own.results.n, [n for n, _ in expected])
    np.testing.assert_allclose(own.results.centre, [centre for _, centre in expected], rtol=1e-5, atol=1e-5)
    assert all(len({*column}) > 1 for column in own.results.n.T[[0, 1, 2, 3, 4]])
    assert "change" in repr(own)


def test_updating_group_of_few_atoms_reads_only_its_base(universe: MDAnalysis.Universe) -> None:
    base = universe.select_atoms("name CA")
    own = Changing(base.select_atoms("prop z > 0", updating=True))
    np.testing.assert_array_equal(own.atoms, base.ix)
    expected = [int((base.positions[:, 2] > 0).sum()) for _ in universe.trajectory]
    np.testing.assert_array_equal(own.run().results.n[:, 0], expected)


def test_trajectory_and_timestep_as_attributes_are_those_of_the_worker(universe: MDAnalysis.Universe) -> None:
    class Holds(mdreel.AnalysisBase):
        def __init__(self, atoms: Any) -> None:
            super().__init__(atoms)
            self.trajectory, self.ts = atoms.universe.trajectory, atoms.universe.trajectory.ts

        def _single_frame(self) -> None:
            self.results.setdefault("seen", []).append([self.trajectory.ts.frame, self.ts.frame, self.ts.dimensions[0]])

    expected = [[ts.frame, ts.frame, ts.dimensions[0]] for ts in universe.trajectory]
    for options in EXECUTORS[:4]:
        own = Holds(universe.atoms[:3]).run(**options)
        np.testing.assert_allclose(own.results.seen, expected)
    with pytest.raises(FunctionError, match="only frame 0 is accessible"):
        Skips(universe.atoms[:3]).run()


class Skips(mdreel.AnalysisBase):
    def _single_frame(self) -> None:
        self.results.setdefault("seen", []).append(self.atomgroup.universe.trajectory[7].frame)
