"""Tests of user-defined subclasses of AnalysisBase."""

from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.base import AnalysisBase as TheirAnalysisBase
from MDAnalysis.analysis.results import ResultsGroup
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from damaged_files import N_ATOMS, write_sound
from mdreel._core import Source
from mdreel.errors import DamagedFrameWarning, FunctionError, MismatchError
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
N_LONG = 12_400
EXECUTORS: list[dict[str, Any]] = [
    {"backend": "serial"},
    {"n_workers": 3},
    {"backend": "processes", "n_workers": 2},
    {"backend": "dask", "n_workers": 2},
]


class _Body:
    """An analysis in MDAnalysis style with a preallocated array, a list and a sum."""

    def _prepare(self) -> None:
        self.results.series = np.zeros((self.n_frames, 3))
        self.results.seen = []
        self.results.total = np.zeros(3)
        self._start = self._other.positions.copy()

    def _single_frame(self) -> None:
        moved = self._other.center_of_mass() - self._start.mean(axis=0)
        self.results.series[self._frame_index] = self.mobile.center_of_mass() + moved
        self.results.seen.append((self._ts.frame, self._ts.time, self.mobile.dimensions[0]))
        self.results.total += self.results.series[self._frame_index]

    def _conclude(self) -> None:
        self.results.mean = self.results.total / self.n_frames

    def _get_aggregator(self) -> ResultsGroup:
        kinds = {"series": ResultsGroup.ndarray_vstack, "seen": ResultsGroup.flatten_sequence}
        return ResultsGroup({**kinds, "total": ResultsGroup.ndarray_sum})


class Ours(_Body, mdreel.AnalysisBase):
    def __init__(self, atomgroup: MDAnalysis.AtomGroup) -> None:
        super().__init__(atomgroup)
        self.mobile, self._other = atomgroup, atomgroup.universe.select_atoms("resid 40-50")


class Theirs(_Body, TheirAnalysisBase):  # type: ignore[misc]
    def __init__(self, atomgroup: MDAnalysis.AtomGroup) -> None:
        super().__init__(atomgroup.universe.trajectory)
        self.mobile, self._other = atomgroup, atomgroup.universe.select_atoms("resid 40-50")


@pytest.fixture(scope="module")
def universe(adk_xtc: Path) -> MDAnalysis.Universe:
    universe = MDAnalysis.Universe(PSF, str(adk_xtc))
    assert universe.trajectory[50].frame == 50  # where _prepare finds the atoms
    return universe


@pytest.fixture(scope="module")
def expected(universe: MDAnalysis.Universe) -> Any:
    found = Theirs(universe.select_atoms("name CA")[::-1]).run(step=2).results
    assert universe.trajectory[50].frame == 50
    return found


@pytest.mark.parametrize("options", EXECUTORS, ids=lambda options: options.get("backend", "threads"))
def test_subclass_gives_the_same_results_as_in_mdanalysis(
    universe: MDAnalysis.Universe, expected: Any, options: dict[str, Any]
) -> None:
    totals = []
    for n_parts in (None, 7):
        own = Ours(universe.select_atoms("name CA")[::-1]).run(step=2, n_parts=n_parts, **options)
        np.testing.assert_allclose(own.results.series, expected.series, rtol=1e-6)
        np.testing.assert_allclose(own.results.mean, expected.mean, rtol=1e-6)
        np.testing.assert_allclose(own.results.seen, expected.seen)
        np.testing.assert_array_equal(own.frames, range(0, 98, 2))
        totals.append(own.results.total)
    alone = Ours(universe.select_atoms("name CA")[::-1]).run(step=2, n_parts=7, backend="serial")
    np.testing.assert_array_equal(totals[1], alone.results.total)  # as many blocks, the same bits


def test_subclass_shares_a_pass_and_goes_on_from_a_checkpoint(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    own, rg = Ours(universe.atoms[:5]), mdreel.Rg(universe.select_atoms("backbone"))
    mdreel.run([own, rg], checkpoint=tmp_path / "kept", n_parts=6)
    again = Ours(universe.atoms[:5])
    mdreel.run([again, rg], checkpoint=tmp_path / "kept", n_parts=6)
    np.testing.assert_array_equal(own.results.series, again.results.series)
    np.testing.assert_array_equal(rg.frames, range(98))


class Extent(mdreel.AnalysisBase):
    """An analysis without an aggregator, with an array and a list that have one entry for each frame."""

    def _prepare(self) -> None:
        self.results.extent = np.zeros(self.n_frames)
        self.results.frames = []

    def _single_frame(self) -> None:
        self.results.extent[self._frame_index] = np.ptp(self.atomgroup.positions[:, 2])
        self.results.frames.append(int(self.frames[self._frame_index]))


def test_arrays_and_lists_by_frame_need_no_aggregator(universe: MDAnalysis.Universe) -> None:
    own = Extent(universe.atoms).run(n_parts=9, start=3)
    assert own.results.frames == list(range(3, 98))
    own_in_one = Extent(universe.atoms).run(n_parts=1, start=3)
    np.testing.assert_array_equal(own.results.extent, own_in_one.results.extent)


def test_atoms_of_all_that_is_held_are_read(universe: MDAnalysis.Universe) -> None:
    class Asks(mdreel.AnalysisBase):
        def __init__(self, atoms: MDAnalysis.AtomGroup, more: Any = None, reads: Any = ()) -> None:
            super().__init__(atoms, reads=reads)
            self.more = more

        def _single_frame(self) -> None:
            found = self.atomgroup.universe.atoms[self.wanted].positions
            self.results.setdefault("positions", []).append(found)

    bond, residue = universe.bonds[40], universe.residues[50]
    for more, wanted in (
        ({"there": [residue], "here": universe.atoms[5:9]}, {*range(9), *residue.atoms.ix}),
        ({residue, bond}, {*residue.atoms.ix, *bond.indices}),
        ((universe.atoms[99], universe.residues[7:9]), {99, *universe.residues[7:9].atoms.ix}),
        (universe.bonds[:5], {*universe.bonds[:5].indices.ravel()}),
        (None, set()),
    ):
        own = Asks(universe.atoms[:7], more)
        own.wanted = sorted({*range(7), *wanted})
        assert own.atoms.tolist() == own.wanted
        assert len(own.run(stop=3).results.positions) == 3
    everything = Asks(universe.atoms[:7], reads=[universe.atoms])
    everything.wanted = list(range(len(universe.atoms)))
    found = everything.run(stop=3, backend="processes", n_workers=2).results.positions
    np.testing.assert_array_equal(found, [universe.atoms.positions for _ in universe.trajectory[:3]])
    universe.trajectory[50]


def test_atom_that_was_not_read_raises_and_the_remedy_helps(universe: MDAnalysis.Universe) -> None:
    class Near(mdreel.AnalysisBase):
        def _single_frame(self) -> None:
            near = self.atomgroup.universe.select_atoms("name CA and around 5 resid 10")
            self.results.setdefault("n", []).append(len(near))

    expected = [len(universe.select_atoms("name CA and around 5 resid 10")) for _ in universe.trajectory[:20]]
    with pytest.raises(FunctionError, match=r"frame 0: .* were not read: .*reads=universe\.atoms"):
        Near(universe.select_atoms("name CA")).run(stop=20)
    found = Near(universe.select_atoms("name CA"), reads=universe.atoms).run(stop=20, n_parts=4).results.n
    universe.trajectory[50]
    assert found == expected
    assert len(set(found)) > 1


def test_start_is_that_of_the_universe_with_its_cell(universe: MDAnalysis.Universe) -> None:
    class Begins(mdreel.AnalysisBase):
        def _prepare(self) -> None:
            ts = self.atomgroup.universe.trajectory.ts
            self.held = ts.positions  # no copy
            self.results.begun = [(ts.frame, ts.dimensions.tolist(), ts.positions[:4].tolist())]

        def _single_frame(self) -> None:
            assert np.isfinite(self.held).all()

        def _conclude(self) -> None:
            self.results.n_begun = len(self.results.begun)

    universe.trajectory[50]
    ts = universe.trajectory.ts
    own = Begins(universe.atoms[:3]).run(n_parts=5, n_workers=1)
    assert own.results.n_begun == 5
    assert own.results.begun == [(50, ts.dimensions.tolist(), ts.positions[:4].tolist())] * 5

    class Bare(mdreel.AnalysisBase):
        def _prepare(self) -> None:
            self.results.start = self.atomgroup.positions

    with pytest.raises(FunctionError, match=r"_prepare: UnsupportedError: the positions .* when run\(\) was called"):
        Bare._single_frame = Begins._single_frame  # type: ignore[method-assign]
        Bare(MDAnalysis.Universe(PSF).atoms[:3], trajectory=universe.trajectory.filename).run()


def test_group_of_another_universe_keeps_its_positions(universe: MDAnalysis.Universe) -> None:
    class Compares(mdreel.AnalysisBase):
        def __init__(self, atoms: MDAnalysis.AtomGroup, reference: MDAnalysis.AtomGroup) -> None:
            super().__init__(atoms)
            self.reference = reference

        def _single_frame(self) -> None:
            self.results.setdefault("kept", []).append(self.reference.positions)

    reference = MDAnalysis.Universe(PSF, DCD)
    reference.trajectory[7]
    reference.atoms.translate([1, 2, 3])
    expected = reference.atoms[3:9].positions
    for backend in ("threads", "processes"):
        kept = (
            Compares(universe.atoms[:3], reference.atoms[3:9]).run(backend=backend, n_workers=2, step=20).results.kept
        )
        assert len(kept) == 5
        np.testing.assert_array_equal(kept, [expected] * 5)


def test_groups_that_change_are_made_in_a_frame(universe: MDAnalysis.Universe) -> None:
    class Changes(mdreel.AnalysisBase):
        def _prepare(self) -> None:
            self.near = self.atomgroup.select_atoms("around 5 resid 10", updating=True)

        def _single_frame(self) -> None:
            self.results.setdefault("n", []).append(len(self.near))

    with pytest.raises(FunctionError, match="create and use updating groups in _single_frame"):
        Changes(universe.select_atoms("name CA")).run(stop=5)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_frame_at_which_a_subclass_raises_is_named(n_workers: int) -> None:
    positions = np.zeros((N_LONG, 2, 3), np.float32)
    positions[12_345, 1, 2] = 99
    long = Source.memory(positions, np.arange(N_LONG, dtype=float))

    class Raises(mdreel.AnalysisBase):
        def _single_frame(self) -> None:
            if self.atomgroup.positions[1, 2] > 9:
                raise RuntimeError("too tall")

    atoms = MDAnalysis.Universe.empty(2, trajectory=True).atoms
    with pytest.raises(FunctionError, match=r"frame 12345: RuntimeError: too tall \(in _single_frame"):
        Raises(atoms, trajectory=long).run(n_workers=n_workers)


def test_results_that_cannot_be_merged_are_refused(universe: MDAnalysis.Universe) -> None:
    class Number(Extent):
        def _single_frame(self) -> None:
            self.results.count = 1

    class Shapes(Extent):
        def _single_frame(self) -> None:
            self.results.extent = np.zeros((self.n_frames, self._ts.frame))

    class Unprepared(Extent):
        def _prepare(self) -> None:
            raise KeyError("nothing is ready")

    class Nothing(mdreel.AnalysisBase):
        pass

    for kind, error, expected in (
        (Number, MismatchError, "results.count has the type int: override _get_aggregator"),
        (Shapes, MismatchError, "results.extent has entries of different shapes"),
        (Unprepared, FunctionError, "_prepare: KeyError: 'nothing is ready'"),
        (Nothing, NotImplementedError, r"Nothing has no _single_frame\(\)"),
    ):
        with pytest.raises(error, match=expected):
            kind(universe.atoms[:3]).run(n_parts=4)


@pytest.mark.parametrize("options", EXECUTORS, ids=lambda options: options.get("backend", "threads"))
def test_damaged_frames_are_left_out_or_end_it(tmp_path: Path, options: dict[str, Any]) -> None:
    sound = write_sound(tmp_path, "dcd")
    path = sound.with_bytes(sound.ranges[4][0], b"\1\2\3\4")
    atoms = MDAnalysis.Universe.empty(N_ATOMS, trajectory=True).atoms
    of_all = Extent(atoms, trajectory=sound.path).run().results.extent
    for on_error, left in (("skip", [0, 1, 2, 3, 5, 6, 7, 8]), ("stop", [0, 1, 2, 3])):
        with pytest.warns(DamagedFrameWarning):
            own = Extent(atoms, trajectory=path).run(on_error=on_error, n_parts=2, **options)
        assert own.results.frames == own.frames.tolist() == left
        np.testing.assert_array_equal(own.results.extent, of_all[left])


def test_topology_alone_is_enough(adk_xtc: Path) -> None:
    own = Extent(MDAnalysis.Universe(PSF).atoms, trajectory=open_trajectory(adk_xtc, index="none")).run()
    of_file = Extent(MDAnalysis.Universe(PSF, str(adk_xtc)).atoms).run(backend="serial")
    np.testing.assert_array_equal(own.results.extent, of_file.results.extent)
    assert MDAnalysis.Universe(PSF, DCD).trajectory.n_frames == len(own.results.extent)
