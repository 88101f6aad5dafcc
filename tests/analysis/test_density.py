"""Tests of densities and end-to-end vectors against MDAnalysis."""

import warnings
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.density import DensityAnalysis
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

import mdreel
from mdreel.errors import MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module", params=[(PSF, DCD), (TPR, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"delta": 2.3, "padding": 0.5},
        {"delta": 0.7, "gridcenter": [1.0, 2.0, 3.0], "xdim": 20, "ydim": 30, "zdim": 25},
    ],
)
def test_counts_are_those_of_mdanalysis(universe: MDAnalysis.Universe, options: dict) -> None:
    atoms = universe.select_atoms("protein")
    universe.trajectory[0]
    ours = mdreel.DensityAnalysis(atoms, **options).run(step=3)
    theirs = DensityAnalysis(atoms, **options).run(step=3).results.density
    np.testing.assert_allclose(ours.results.density.grid, theirs.grid, rtol=1e-12)
    for edges, expected in zip(ours.results.density.edges, theirs.edges, strict=True):
        np.testing.assert_array_equal(edges, expected)
    volume = np.prod([edges[1] - edges[0] for edges in theirs.edges])
    np.testing.assert_array_equal(ours.results.counts, np.rint(theirs.grid * volume * ours.n_frames).astype(int))
    assert ours.results.counts.dtype == np.int64


def test_grid_is_laid_around_the_current_frame(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms("name CA")
    made = []
    for frame in (0, 6):
        universe.trajectory[frame]
        made.append((mdreel.DensityAnalysis(atoms), DensityAnalysis(atoms)))
    universe.trajectory[0]
    edges = []
    for ours, theirs in made:
        found, expected = ours.run(stop=2).results.density, theirs.run(stop=2).results.density
        np.testing.assert_allclose(found.grid, expected.grid, rtol=1e-12)
        np.testing.assert_array_equal(found.edges[0], expected.edges[0])
        edges.append(found.edges[0])
    assert edges[0][0] != edges[1][0]


def test_density_is_that_of_mdanalysis(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms("name CA")
    ours, theirs = (kind(atoms, 3.0, {"author": "me"}) for kind in (mdreel.DensityAnalysis, DensityAnalysis))
    found, expected = ours.run(stop=3).results.density, theirs.run(stop=3).results.density
    assert type(found) is type(expected)
    assert (found.units, found.parameters) == (expected.units, expected.parameters)
    assert found.metadata == {"author": "me"}  # which MDAnalysis 2.11 drops
    for unit in ("nm^{-3}", "water"):
        found.convert_density(unit)
        expected.convert_density(unit)
        np.testing.assert_allclose(found.grid, expected.grid, rtol=1e-12)
    with pytest.warns(DeprecationWarning, match="`density` attribute was deprecated"):
        assert ours.density is found


def test_grid_that_is_too_small_and_padding_without_effect_are_reported(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms("name CA")
    grid = {"gridcenter": [0, 0, 0], "xdim": 3, "ydim": 3, "zdim": 3}
    n_seen = f"{2 * len(atoms):,}"
    with pytest.warns(UserWarning, match=f"of {n_seen} positions of atoms lie outside") as caught:
        mdreel.DensityAnalysis(atoms, **grid).run(stop=2)
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(UserWarning, match=r"padding=1 has no effect.*gridcenter"):
        mdreel.DensityAnalysis(atoms, padding=1.0, **grid)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mdreel.DensityAnalysis(atoms, **grid | dict.fromkeys(("xdim", "ydim", "zdim"), 500)).run(stop=2)
        mdreel.DensityAnalysis(atoms).run(stop=2)


def test_counts_are_the_same_for_all_executors(adk_xtc: Path) -> None:
    atoms = MDAnalysis.Universe(PSF).select_atoms("protein")
    alone = mdreel.DensityAnalysis(atoms, trajectory=adk_xtc).run(backend="serial").results.counts
    assert 0 < alone.sum() <= 98 * len(atoms)
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2}):
        found = mdreel.DensityAnalysis(atoms, trajectory=adk_xtc).run(**options).results.counts
        np.testing.assert_array_equal(found, alone)


def test_density_refuses_invalid_input(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms("name CA")
    for options, expected in (
        ({"delta": 0.0}, "delta must be more than 0"),
        ({"padding": -1.0}, "padding must be 0"),
        ({"xdim": 3.0}, "Gridcenter or grid dimensions are not provided"),
        ({"gridcenter": [0, 0], "xdim": 1, "ydim": 1, "zdim": 1}, "Gridcenter must be a 3D coordinate"),
        ({"gridcenter": [0, 0, 0], "xdim": 0, "ydim": 1, "zdim": 1}, "longer than 0"),
        ({"gridcenter": [0, 0, "z"], "xdim": 1, "ydim": 1, "zdim": 1}, "Gridcenter must be a 3D coordinate"),
        ({"gridcenter": [0, 0, 0], "xdim": "x", "ydim": 1, "zdim": 1}, "xdim, ydim, and zdim must be numbers"),
        ({"gridcenter": [0, 0, 0], "xdim": np.nan, "ydim": 1, "zdim": 1}, "have NaN element"),
        ({"gridcenter": [0, 0, 0], "xdim": np.inf, "ydim": 1, "zdim": 1}, "must be finite"),
    ):
        with pytest.raises(MismatchError, match=expected):
            mdreel.DensityAnalysis(atoms, **options)
    with pytest.raises(MismatchError, match="too fine"):
        mdreel.DensityAnalysis(atoms, 1e-3).run()
    with pytest.raises(SelectionError, match="more than once"):
        mdreel.DensityAnalysis(atoms + atoms[:1])
    with pytest.raises(MismatchError, match="a larger padding"):
        mdreel.DensityAnalysis(atoms[:1], padding=0).run()


def test_ends_are_those_of_mdanalysis(universe: MDAnalysis.Universe) -> None:
    protein = universe.select_atoms("protein")
    chains = [protein.select_atoms("name CA"), protein.residues[3].atoms, protein[[5, 2]]]
    ends = mdreel.EndToEnd(chains).run(step=3)
    expected = np.array(
        [[np.subtract(c.positions[-1], c.positions[0], dtype=float) for c in chains] for _ in universe.trajectory[::3]]
    )
    np.testing.assert_array_equal(ends.results.vectors, expected)
    np.testing.assert_allclose(ends.results.distances, np.linalg.norm(expected, axis=-1), rtol=1e-14)
    alone = mdreel.EndToEnd(chains[0]).run(step=3).results.vectors
    np.testing.assert_array_equal(alone, expected[:, :1])
    for options in ({"n_parts": 9}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2}):
        other = mdreel.EndToEnd(chains).run(step=3, **options).results
        assert other.vectors.tobytes() == ends.results.vectors.tobytes(), options


def test_end_to_end_refuses_invalid_input(universe: MDAnalysis.Universe) -> None:
    protein = universe.select_atoms("protein")
    with pytest.raises(SelectionError, match="no chain"):
        mdreel.EndToEnd([])
    with pytest.raises(SelectionError, match="chain 1 has no atoms"):
        mdreel.EndToEnd([protein, protein[:0]])
    with pytest.raises(SelectionError, match=r"chains\[0\] must be an AtomGroup"):
        mdreel.EndToEnd(["protein"])
    with pytest.raises(MismatchError, match="another Universe"):
        mdreel.EndToEnd([protein, universe.copy().atoms])


def test_plot_labels(universe: MDAnalysis.Universe) -> None:
    alpha = universe.select_atoms("name CA")
    assert mdreel.EndToEnd([alpha]).run().plot().axes[0].get_ylabel() == "End-to-end distance (Å)"
    axes, bar = mdreel.DensityAnalysis(alpha, 2.0).run().plot().axes
    assert (axes.get_xlabel(), bar.get_ylabel()) == ("x (Å)", "Mean density (Å⁻³)")
