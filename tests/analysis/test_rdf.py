"""Tests of radial distribution functions against MDAnalysis and a reference loop."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import rdf as theirs
from MDAnalysisTests.datafiles import DCD, GRO, PSF, TPR, XTC

import mdreel
from mdreel.errors import MismatchError, SelectionError
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
BITS = 20  # pairs that single precision may put into the next bin, in a bin and a frame


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(TPR, XTC)


def obvious_counts(first: MDAnalysis.AtomGroup, second: MDAnalysis.AtomGroup, edges: np.ndarray) -> np.ndarray:
    """Return the distances of all images of all pairs in one frame, in float64."""
    box = MDAnalysis.lib.mdamath.triclinic_vectors(first.universe.dimensions).astype(np.float64)
    between = second.positions.astype(np.float64) - first.positions.astype(np.float64)[:, None]
    for axis in (2, 1, 0):
        between -= np.round(between[..., axis] / box[axis, axis])[..., None] * box[axis]
    shortest = np.full(between.shape[:2], np.inf)
    for steps in np.ndindex(3, 3, 3):
        x, y, z = np.moveaxis(between + (np.array(steps) - 1.0) @ box, -1, 0)
        shortest = np.minimum(shortest, np.sqrt(x * x + y * y + z * z))
    return np.histogram(shortest, edges)[0]


def test_counts_match_a_reference_loop(universe: MDAnalysis.Universe) -> None:
    oxygens, nitrogens = universe.select_atoms("name OW")[::25], universe.select_atoms("protein and name N")
    for first, second, high in ((oxygens, oxygens, 12.0), (nitrogens, oxygens, 30.0), (nitrogens, nitrogens, 45.0)):
        universe.trajectory[0]
        found = mdreel.InterRDF(first, second, nbins=60, range=(0.0, high)).run(step=5).results
        expected = sum(obvious_counts(first, second, found.edges) for _ in universe.trajectory[::5])
        np.testing.assert_array_equal(found.count, expected)


@pytest.mark.parametrize("norm", ["rdf", "density", "none"])
@pytest.mark.parametrize("options", [{}, {"exclusion_block": (3, 1)}, {"exclude_same": "residue"}])
def test_results_are_those_of_mdanalysis(universe: MDAnalysis.Universe, norm: str, options: dict) -> None:
    water = universe.select_atoms("resname SOL")[:1500]
    first, second = water, water.select_atoms("name OW")
    ours = mdreel.InterRDF(first, second, norm=norm, **options).run(step=4)
    expected = theirs.InterRDF(first, second, norm=norm, **options).run(step=4)
    assert set(expected.results) <= set(ours.results)
    np.testing.assert_array_equal(ours.results.edges, expected.results.edges)
    np.testing.assert_array_equal(ours.results.bins, expected.results.bins)
    assert np.abs(ours.results.count - expected.results.count).max() <= BITS * ours.n_frames
    crossed = ours.results.count * expected.results.rdf
    np.testing.assert_allclose(ours.results.rdf * expected.results.count, crossed, rtol=1e-5)


def test_results_of_sites_are_those_of_mdanalysis(universe: MDAnalysis.Universe) -> None:
    alpha = universe.select_atoms("name CA")
    pairs = [(alpha[:3], alpha[[5, 4, 9, 7]]), (alpha[20:21], alpha[:2])]
    for norm in ("rdf", "density", "none"):
        ours = mdreel.InterRDF_s(universe, pairs, nbins=30, norm=norm).run()
        expected = theirs.InterRDF_s(universe, pairs, nbins=30, norm=norm).run()
        for name in ("count", "rdf", "indices"):
            for found, other in zip(ours.results[name], expected.results[name], strict=True):
                for one, another in zip(found, other, strict=True):
                    np.testing.assert_allclose(one, another, rtol=1e-5)
        for found, other in zip(ours.get_cdf(), expected.get_cdf(), strict=True):
            np.testing.assert_allclose(found, other, rtol=1e-9)


def test_arguments_of_mdanalysis_change_names_but_no_counts(universe: MDAnalysis.Universe) -> None:
    oxygens = universe.select_atoms("name OW")[:300]
    plain = mdreel.InterRDF(oxygens, oxygens, norm="none").run(stop=2)
    for options in ({"norm": None}, {"norm": "None", "backend": "OpenMP"}, {"norm": "NONE", "backend": "distopia"}):
        given = mdreel.InterRDF(oxygens, oxygens, **options).run(stop=2)
        assert given.norm == "none"
        np.testing.assert_array_equal(given.results.rdf, plain.results.rdf)
    settings = theirs.InterRDF(oxygens, oxygens, 20, (0.0, 9.0)).rdf_settings
    mine = mdreel.InterRDF(oxygens, oxygens, 20, (0.0, 9.0), verbose=True)
    assert (mine.rdf_settings, mine.g1, mine.g2, mine.is_verbose) == (settings, oxygens, oxygens, True)
    whole = mdreel.InterRDF(universe, oxygens, norm="none").run(stop=1).results.count
    np.testing.assert_array_equal(
        whole, mdreel.InterRDF(universe.atoms, oxygens, norm="none").run(stop=1).results.count
    )


def test_volumes_are_those_of_mdanalysis(universe: MDAnalysis.Universe) -> None:
    alpha = universe.select_atoms("name CA")
    for make in (
        lambda module: module.InterRDF(alpha, alpha),
        lambda module: module.InterRDF_s(universe, [[alpha[:2], alpha[4:5]]]),
    ):
        assert make(mdreel).run().volume_cum == pytest.approx(make(theirs).run().volume_cum, rel=1e-6)


def test_density_of_sites_is_the_deprecated_name_of_a_norm(universe: MDAnalysis.Universe) -> None:
    alpha = universe.select_atoms("name CA")
    pairs = [[alpha[:2], alpha[4:6]]]
    with pytest.warns(DeprecationWarning, match="use norm='density'") as caught:
        sites = mdreel.InterRDF_s(universe, pairs, density=True).run(stop=2)
    assert caught[0].filename == __file__
    assert (sites.norm, sites.ags) == ("density", pairs)
    expected = mdreel.InterRDF_s(universe, pairs, norm="density").run(stop=2)
    np.testing.assert_array_equal(sites.results.rdf[0], expected.results.rdf[0])
    cdf = sites.get_cdf()
    with pytest.warns(DeprecationWarning, match="`cdf` attribute was deprecated"):
        assert sites.cdf is cdf


def test_counts_are_bitwise_identical_for_all_executors(universe: MDAnalysis.Universe) -> None:
    oxygens, alpha = universe.select_atoms("name OW"), universe.select_atoms("name CA")

    def bits(**options: object) -> bytes:
        source = open_trajectory(XTC, index="none")
        rdf = mdreel.InterRDF(alpha, oxygens, exclude_same="residue", trajectory=source).run(**options)
        sites = mdreel.InterRDF_s(universe, [(alpha[:5], alpha[5:9])], trajectory=source).run(**options)
        return rdf.results.rdf.tobytes() + rdf.results.count.tobytes() + sites.results.rdf[0].tobytes()

    expected = bits(backend="serial")
    for options in ({"n_parts": 7}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
        assert bits(**options) == expected, options


def test_pairs_outside_a_cell_are_counted_without_images() -> None:
    alpha = MDAnalysis.Universe(PSF, DCD).select_atoms("name CA")
    found = mdreel.InterRDF(alpha, alpha, norm="density").run(stop=1).results
    positions = alpha.positions.astype(np.float64)
    x, y, z = np.moveaxis(positions - positions[:, None], -1, 0)
    np.testing.assert_array_equal(found.count, np.histogram(np.sqrt(x * x + y * y + z * z), found.edges)[0])
    with pytest.raises(MismatchError, match="frame 0: no periodic cell"):
        mdreel.InterRDF(alpha, alpha).run()
    with pytest.raises(MismatchError, match="frame 0: no periodic cell"):
        mdreel.InterRDF_s(alpha.universe, [(alpha, alpha)]).run()


def test_rdf_refuses_invalid_input(universe: MDAnalysis.Universe) -> None:
    alpha = universe.select_atoms("name CA")
    for options, message in (
        ({"norm": "gas"}, "'gas' is an invalid norm: expected one of rdf, density, none"),
        ({"nbins": 0}, "at least one bin"),
        ({"range": (3.0, 3.0)}, "an ascending range"),
        ({"range": (0.0, np.inf)}, "an ascending range"),
        ({"exclusion_block": (1, 1), "exclude_same": "chain"}, "cannot be used with exclusion_block"),
        ({"exclude_same": "molecule"}, "residue, segment, chain"),
        ({"exclusion_block": (0, 1)}, "two numbers of atoms"),
        ({"backend": "processes"}, r"backend must be one of serial, openmp, distopia.*run\(backend=...\)"),
    ):
        with pytest.raises(MismatchError, match=message):
            mdreel.InterRDF(alpha, alpha, **options)
    with pytest.raises(SelectionError, match="g2 has no atoms"):
        mdreel.InterRDF(alpha, alpha[:0])
    with pytest.raises(MismatchError, match="another Universe"):
        mdreel.InterRDF(alpha, MDAnalysis.Universe(GRO).atoms)
    with pytest.raises(MismatchError, match=r"ags\[0\]\[1\] is in another Universe than u"):
        mdreel.InterRDF_s(universe, [(alpha, MDAnalysis.Universe(GRO).atoms)])
    with pytest.raises(MismatchError, match="at least one pair"):
        mdreel.InterRDF_s(universe, [])


def test_plot_shows_the_function_and_a_gas(universe: MDAnalysis.Universe, tmp_path: Path) -> None:
    oxygens = universe.select_atoms("name OW")
    figure = mdreel.InterRDF(oxygens, oxygens, exclusion_block=(1, 1)).run(stop=2).plot()
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel(), len(axes.lines)) == ("Distance (Å)", "g(r)", 2)
    figure.savefig(tmp_path / "rdf.png")
    alpha = universe.select_atoms("name CA")
    sites = mdreel.InterRDF_s(universe, [(alpha[:2], alpha[2:4])], norm="none").run().plot()
    assert sites.axes[0].get_ylabel() == "Pairs in a frame"
