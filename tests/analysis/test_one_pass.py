"""Tests of several analyses in one pass."""

import itertools
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from mdreel.errors import MismatchError

pytestmark = pytest.mark.filterwarnings("ignore:DCDReader currently:DeprecationWarning")


@pytest.fixture
def universe() -> mda.Universe:
    return mda.Universe(PSF, DCD)


def several(universe: mda.Universe) -> list[mdreel.RMSD]:
    reference = universe.select_atoms("name CA")
    return [
        mdreel.RMSD(reference, ref_frame=3),
        mdreel.RMSD(universe.select_atoms("backbone"), weights="mass"),
        mdreel.RMSD(universe.select_atoms("resid 30:90 and not name H*"), superposition=False),
        mdreel.RMSD(universe.atoms),
    ]


@pytest.mark.parametrize("backend", ["serial", "threads", "processes"])
@pytest.mark.parametrize("n_parts", [1, 7])
def test_several_analyses_in_one_pass_have_the_bits_of_each_alone(
    universe: mda.Universe, backend: str, n_parts: int
) -> None:
    together = several(universe)
    for subset in (together[:2], together[:3], together):
        assert mdreel.run(subset, step=3, backend=backend, n_parts=n_parts) == tuple(subset)
        for analysis, alone in zip(subset, several(universe), strict=False):
            alone.run(step=3, backend="serial")
            assert analysis.results.rmsd.tobytes() == alone.results.rmsd.tobytes()
            assert analysis.timing.n_frames == 33
            np.testing.assert_array_equal(analysis.frames, alone.frames)


def test_order_of_wide_and_narrow_analyses_changes_no_bit(universe: mda.Universe) -> None:
    protein = universe.select_atoms("protein")

    def make() -> list[mdreel.RMSD | mdreel.Rg | mdreel.Ramachandran | mdreel.RMSF]:
        return [
            mdreel.RMSD(protein),
            mdreel.Ramachandran(protein.residues[1:-1]),
            mdreel.RMSF(protein),
            mdreel.Rg(protein),
        ]

    alone = make()
    for analysis in alone:
        analysis.run(step=3)
    for order in itertools.permutations(range(4)):
        together = make()
        mdreel.run([together[k] for k in order], step=3)
        for one, other in zip(together, alone, strict=True):
            for (name, value), expected in zip(one.results.items(), other.results.values(), strict=True):
                assert np.asarray(value).tobytes() == np.asarray(expected).tobytes(), (order, name)


def test_one_pass_reads_each_frame_once(universe: mda.Universe) -> None:
    for n in (1, 3):
        analyses = several(universe)[:n]
        mdreel.run(analyses, backend="serial")
        spans = analyses[0].timing.spans
        assert spans["n_frames"][spans["kind"] == mdreel.timing.spans.KINDS.index("compute")].sum() == 98


def test_one_pass_keeps_a_checkpoint(universe: mda.Universe, tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    first, again = several(universe), several(universe)
    mdreel.run(first, checkpoint=path, n_parts=5)
    mdreel.run(again, checkpoint=path, n_parts=5)
    for one, other in zip(first, again, strict=True):
        assert one.results.rmsd.tobytes() == other.results.rmsd.tobytes()
    with pytest.raises(MismatchError, match="analysis"):
        mdreel.run(several(universe)[:2] + several(universe)[3:], checkpoint=path, n_parts=5)


def test_analyses_of_several_trajectories_are_refused(universe: mda.Universe) -> None:
    other = mda.Universe(PSF, DCD)
    with pytest.raises(MismatchError, match="different trajectories"):
        mdreel.run([mdreel.RMSD(universe.atoms), mdreel.RMSD(other.atoms)])
    mdreel.run([mdreel.RMSD(universe.atoms, trajectory=DCD), mdreel.RMSD(other.atoms, trajectory=DCD)], stop=2)


def test_no_analysis_is_refused() -> None:
    with pytest.raises(MismatchError, match="no analysis"):
        mdreel.run([])
