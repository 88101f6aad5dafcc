"""Samples: small real runs, what they look at, and what they leave alone."""

from dataclasses import astuple
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests import datafiles
from MDAnalysisTests.datafiles import PSF

import mdreel
from mdreel._core import FrameSet, Source
from mdreel.cluster.advice import page_faults
from mdreel.cluster.advice import sample as sampling
from mdreel.cluster.advice.advise import advise
from mdreel.cluster.advice.sample import FrameCost, files_of, take_sample
from mdreel.errors import FormatError, FrameIndexError, MismatchError, UnsupportedError
from mdreel.execution.executors.local.serial import Serial
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF)


@pytest.fixture
def rmsd(universe: MDAnalysis.Universe, adk_xtc: Path) -> mdreel.RMSD:
    return mdreel.RMSD(universe.select_atoms("name CA"), trajectory=open_trajectory(adk_xtc))


def sampled(analysis, frames: FrameSet | None = None, n_together: int = 1, **settings):
    source = analysis.open()
    frames = FrameSet.range(0, 1, source.n_frames) if frames is None else frames
    return take_sample([analysis], source, frames, n_together, files=files_of(source), **settings)


def test_sample_of_a_short_trajectory_is_all_of_it(rmsd, adk_xtc):
    found = sampled(rmsd)
    assert found.n_frames == 98
    assert found.n_sampled == found.n_distinct == 95  # five stretches of 19
    cost = found.alone
    assert min(cost.read, cost.decompress, cost.compute, cost.n_bytes) > 0
    assert cost.io == cost.read + cost.decompress
    assert cost.seconds == cost.io + cost.compute
    assert cost.ratio_comp_io == cost.compute / cost.io
    assert cost.n_bytes == pytest.approx(adk_xtc.stat().st_size / 98, rel=0.2)
    assert found.file_bytes == adk_xtc.stat().st_size / 98
    assert found.opening > 0
    assert found.row_bytes == 24
    assert (found.n_atoms, found.n_wanted_atoms, found.format, found.n_files) == (3341, 214, "XTC", 1)
    assert found.together is None
    assert not found.runs_python


def test_sample_knows_where_the_file_lies_and_whether_it_is_in_memory(rmsd, adk_xtc):
    adk_xtc.read_bytes()
    found = sampled(rmsd)
    assert found.file_system
    assert found.cached_share == pytest.approx(1.0)


def test_threads_together_are_sampled_beside_one_alone(rmsd):
    found = sampled(rmsd, n_together=2)
    assert found.together is not None
    assert found.n_together == 2
    assert found.n_sampled == 190
    assert 95 <= found.n_distinct <= 98  # each stretch was read twice
    assert found.slowdown >= 1
    assert found.contention == found.slowdown - 1


def test_analysis_keeps_what_it_had(rmsd):
    sampled(rmsd)
    with pytest.raises(AttributeError):
        rmsd.n_frames  # noqa: B018 (it was not run)
    assert not rmsd.results
    rmsd.run(stop=7)
    before = rmsd.results.rmsd
    sampled(rmsd)
    assert rmsd.results.rmsd is before


def test_frames_that_are_not_wanted_are_not_looked_at(universe):
    """Each frame has a coordinate that says which it is; what is looked at is kept."""
    positions = np.zeros((200, 3341, 3), np.float32)
    positions[:, 0, 0] = np.arange(200)
    source = Source.memory(positions, np.arange(200, dtype=float))
    seen: set[int] = set()

    def look(frame: np.ndarray) -> float:
        seen.add(int(frame[0, 0]))
        return 0.0

    analysis = mdreel.from_function(look, universe.atoms[:1], trajectory=source)
    sampled(analysis, FrameSet.range(10, 7, 20))
    assert seen - {0} <= set(range(10, 150, 7))  # the first frame is what says which shape results have
    assert len(seen) >= 20
    seen.clear()
    sampled(analysis, FrameSet.list(np.array([5, 3, 190, 3], np.uint64)))
    assert seen - {0} == {3, 5, 190}


def test_sample_is_spread_and_bounded(monkeypatch, universe):
    """With a pace that is given: a hundredth of a second a frame of a hundred thousand."""
    runs: list[tuple[int, int]] = []

    class Nothing:
        kernel = type("Kernel", (), {"row_width": 3})

    monkeypatch.setattr(sampling, "_run", lambda _, numbers, first, count, crew: runs.append((first, count)))
    numbers = np.arange(100_000, dtype=np.uint64)
    crews = [Serial(), mdreel.Threads(2)]
    assert [which for which, _ in sampling._stretches(Nothing, numbers, crews, 0.01, 2.0)] == [0, 1] * 5
    alone, together = runs[::2], runs[1::2]
    assert [first for first, _ in alone] == [0, 20_000, 40_000, 60_000, 80_000]
    assert {count for _, count in alone} == {20}  # 5 times 0.2 s
    assert {count for _, count in together} == {40}
    assert [first + count for first, count in together] == [20_000, 40_000, 60_000, 80_000, 100_000]


def test_one_frame_is_looked_at_however_long_that_takes(monkeypatch):
    runs: list[tuple[int, int]] = []

    class Nothing:
        kernel = type("Kernel", (), {"row_width": 3})

    monkeypatch.setattr(sampling, "_run", lambda _, numbers, first, count, crew: runs.append((first, count)))
    list(sampling._stretches(Nothing, np.arange(100, dtype=np.uint64), [Serial()], 60.0, 2.0))
    assert runs == [(0, 1)]


def test_results_of_a_stretch_are_bounded(monkeypatch):
    runs: list[tuple[int, int]] = []

    class Wide:
        kernel = type("Kernel", (), {"row_width": 1 << 20})

    monkeypatch.setattr(sampling, "_run", lambda _, numbers, first, count, crew: runs.append((first, count)))
    list(sampling._stretches(Wide, np.arange(10_000, dtype=np.uint64), [Serial()], 1e-6, 2.0))
    assert {count for _, count in runs} == {8}


def test_code_of_users_is_known_to_run_in_python(universe, adk_xtc):
    analysis = mdreel.from_function(lambda frame: frame[0, 0], universe.atoms[:3], trajectory=adk_xtc)
    assert sampled(analysis).runs_python


def test_frames_of_a_foreign_reader_run_in_python():
    atoms = MDAnalysis.Universe(datafiles.TRZ_psf).atoms
    source = open_trajectory(datafiles.TRZ, format="TRZ", n_atoms=8184)
    assert sampled(mdreel.Rg(atoms, trajectory=source)).runs_python


def test_order_that_a_transformation_needs_is_known(universe, adk_xtc):
    advice = advise(
        mdreel.Rg(universe.atoms[:100], trajectory=adk_xtc), transformations=[mdreel.transformations.nojump()]
    )
    assert advice.sample.needs_order
    assert advice.sample.together is None
    assert (advice.plan.executor, advice.plan.n_workers, advice.plan.n_blocks) == ("serial", 1, 1)
    with pytest.raises(MismatchError, match=r"at most 1 can work \(a transformation needs all frames in order\)"):
        advise(
            mdreel.Rg(universe.atoms[:100], trajectory=adk_xtc),
            transformations=[mdreel.transformations.nojump()],
            n_workers=2,
        )


def test_several_analyses_are_sampled_in_one_pass(universe, adk_xtc):
    source = open_trajectory(adk_xtc)
    alpha = mdreel.RMSD(universe.select_atoms("name CA"), trajectory=source)
    advice = advise([alpha, mdreel.Rg(universe.atoms, trajectory=source)], step=2)
    assert advice.sample.n_frames == 49
    assert advice.sample.n_wanted_atoms == 3341


@pytest.mark.parametrize("name", ["PCA", "RMSF", "Dihedrals", "DSSP", "InterRDF", "EinsteinMSD"])
def test_analyses_of_every_kind_can_be_sampled(name: str, universe, adk_xtc):
    atoms, source = universe.select_atoms("resid 3:20"), open_trajectory(adk_xtc)
    groups = (atoms, atoms) if name == "InterRDF" else (atoms,)
    found = sampled(getattr(mdreel, name)(*groups, trajectory=source), FrameSet.range(3, 1, 2))
    assert found.n_sampled >= 2
    assert np.isfinite(astuple(found.alone)).all()


def test_pairs_of_frames_are_refused(universe, adk_xtc):
    with pytest.raises(UnsupportedError, match="no advice on a DistanceMatrix"):
        advise(mdreel.DistanceMatrix(universe, select="name CA", trajectory=adk_xtc))


def test_what_is_wrong_is_raised_as_a_run_raises_it(universe, adk_xtc, tmp_path):
    atoms = universe.select_atoms("name CA")
    with pytest.raises(FileNotFoundError):
        advise(mdreel.RMSD(atoms, trajectory=tmp_path / "none.xtc"))
    torn = tmp_path / "torn.xtc"
    torn.write_bytes(adk_xtc.read_bytes()[:-100])
    with pytest.raises(FormatError):
        advise(mdreel.RMSD(atoms, trajectory=torn))
    with pytest.raises(FrameIndexError):
        advise(mdreel.RMSD(atoms, trajectory=adk_xtc), start=98)
    with pytest.raises(MismatchError, match="no analysis"):
        advise([])
    with pytest.raises(MismatchError, match="different trajectories"):
        advise([mdreel.RMSD(atoms, trajectory=adk_xtc), mdreel.RMSD(atoms, trajectory=torn)])


def test_nothing_read_makes_the_ratio_infinite():
    assert FrameCost(0, 0, 1).ratio_comp_io == float("inf")


def test_page_faults_cost_something():
    taken = page_faults.seconds_per_byte()
    assert 0 < taken < 1e-6
