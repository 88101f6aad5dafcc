"""Tests of helix eigenvalues against full matrices."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.lib.distances import distance_array
from MDAnalysisTests.datafiles import DCD, GRO, PSF, XTC

import mdreel
from mdreel.analysis.helices import helices_of
from mdreel.errors import MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
RESIDUES = ("13:24", "31:40", "50:54", "61:73")


@pytest.fixture(params=[(PSF, DCD), (GRO, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("pairs", [False, True])
def test_eigenvalues_match_the_full_matrix(universe: MDAnalysis.Universe, pairs: bool, squared: bool) -> None:
    segments = [universe.select_atoms(f"name CA and resid {residues}") for residues in RESIDUES]
    analysis = mdreel.HelixEigenvalues(segments, pairs=pairs, squared=squared).run(step=5)
    assert len(analysis.pairs) == analysis.results.eigenvalues.shape[1] == (6 if pairs else 4)
    for _, found in zip(universe.trajectory[::5], analysis.results.eigenvalues, strict=True):
        for (i, j), value in zip(analysis.pairs, found, strict=True):
            between = distance_array(segments[i].positions.astype(float), segments[j].positions.astype(float))
            between = between**2 if squared else between
            n, m = between.shape
            whole = between if i == j else np.block([[np.zeros((n, n)), between], [between.T, np.zeros((m, m))]])
            assert value == pytest.approx(np.linalg.eigvalsh(whole)[-1], rel=1e-7)


def test_eigenvalues_are_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    universe = MDAnalysis.Universe(PSF)
    segments = [universe.select_atoms(f"name CA and resid {residues}") for residues in RESIDUES]

    def bits(**options: object) -> bytes:
        analysis = mdreel.HelixEigenvalues(segments, pairs=True, trajectory=adk_xtc)
        return analysis.run(**options).results.eigenvalues.tobytes()

    expected = bits(backend="serial")
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2}):
        assert bits(**options) == expected, options


def test_helices_of_adk_are_found(universe: MDAnalysis.Universe) -> None:
    helices = helices_of(universe.select_atoms("protein"))
    assert len(helices) > 5
    for helix in helices:
        assert set(helix.names) == {"CA"}
        assert len(helix) >= 4
        assert (np.diff(helix.resindices) == 1).all()
    assert any(helix.resids[0] in range(11, 17) for helix in helices)
    with pytest.raises(SelectionError, match="no helix of 500 residues"):
        helices_of(universe.select_atoms("protein"), least=500)


def test_helix_eigenvalues_refuse_invalid_input(universe: MDAnalysis.Universe) -> None:
    alpha = universe.select_atoms("name CA")
    with pytest.raises(SelectionError, match="no segment"):
        mdreel.HelixEigenvalues([])
    with pytest.raises(MismatchError, match="segment 1 is in another Universe than segment 0"):
        mdreel.HelixEigenvalues([alpha, MDAnalysis.Universe(PSF, DCD).atoms])
    with pytest.raises(MismatchError, match="segment 1 has 1 atoms"):
        mdreel.HelixEigenvalues([alpha[:5], alpha[:1]]).run()
    with pytest.raises(MismatchError, match="2 segments at least"):
        mdreel.HelixEigenvalues([alpha], pairs=True).run()
