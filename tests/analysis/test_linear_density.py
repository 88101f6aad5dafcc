"""Tests of density profiles against MDAnalysis, and in triclinic cells."""

from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis import lineardensity
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC, waterDCD, waterPSF

import mdreel
from mdreel._core import Source
from mdreel.errors import MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
QUANTITIES = ("mass_density", "mass_density_stddev", "charge_density", "charge_density_stddev")
N_FRAMES = 12
LENGTHS = (41.5137, 37.0291, 33.2543)  # Å: edges of bins are not on the grid of XTC


@pytest.fixture(scope="module")
def boxed(tmp_path_factory: pytest.TempPathFactory) -> MDAnalysis.Universe:
    """Return AdK in a cell with three different lengths, smaller than the protein."""
    path = tmp_path_factory.mktemp("boxed") / "adk.xtc"
    universe = MDAnalysis.Universe(PSF, DCD)
    with MDAnalysis.Writer(str(path), len(universe.atoms)) as file:
        for _ in universe.trajectory[: 8 * N_FRAMES : 8]:
            universe.dimensions = [*LENGTHS, 90, 90, 90]
            file.write(universe.atoms)
    return MDAnalysis.Universe(PSF, str(path))


@pytest.fixture(scope="module")
def triclinic() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(TPR, XTC)


@pytest.mark.parametrize("grouping", ["atoms", "residues", "segments", "fragments"])
@pytest.mark.parametrize("binsize", [0.25, 3.0])
def test_profiles_are_those_of_mdanalysis(boxed: MDAnalysis.Universe, grouping: str, binsize: float) -> None:
    atoms = boxed.select_atoms("protein and resid 1:60")
    boxed.trajectory[0]
    ours = mdreel.LinearDensity(atoms, grouping, binsize).run().results
    theirs = lineardensity.LinearDensity(atoms, grouping, binsize).run().results
    for axis in "xyz":
        found, expected = ours[axis], theirs[axis]
        assert found.dim == expected.dim
        assert found.slice_volume == pytest.approx(expected.slice_volume, rel=1e-6)
        np.testing.assert_allclose(found.hist_bin_edges, expected.hist_bin_edges, rtol=1e-6)
        for name in QUANTITIES:
            # What of an atom on an edge is in the next bin, as its image is rounded to single precision by the peer.
            apart = np.abs(found[name] - expected[name])
            assert (apart > 1e-6 * np.abs(expected[name]).max()).sum() <= 4, (axis, name)
        np.testing.assert_allclose(found.mass_density.sum(), expected.mass_density.sum(), rtol=1e-6)


@pytest.mark.parametrize("grouping", ["atoms", "residues", "segments", "fragments"])
def test_masses_and_charges_are_those_of_mdanalysis(boxed: MDAnalysis.Universe, grouping: str) -> None:
    atoms = boxed.select_atoms("protein and resid 1:60")[::-1]
    boxed.trajectory[0]
    ours, theirs = (kind(atoms, grouping, 3.0) for kind in (mdreel.LinearDensity, lineardensity.LinearDensity))
    ours.run(stop=1)
    theirs.run(stop=1)
    assert (ours.grouping, ours.binsize, ours.nbins) == (theirs.grouping, theirs.binsize, theirs.nbins)
    np.testing.assert_allclose(ours.masses, theirs.masses, rtol=1e-12)
    np.testing.assert_allclose(ours.charges, theirs.charges, rtol=1e-9, atol=1e-9)


def test_results_have_the_deprecated_names_of_mdanalysis(boxed: MDAnalysis.Universe) -> None:
    found = mdreel.LinearDensity(boxed.select_atoms("name CA"), binsize=3.0).run(stop=2).results.x
    names = dict(zip(("pos", "pos_std", "char", "char_std"), QUANTITIES, strict=True))
    for old, new in names.items():
        for value in (lambda old=old: found[old], lambda old=old: getattr(found, old)):
            with pytest.warns(DeprecationWarning, match=f"'{old}' is deprecated: use '{new}'") as caught:
                np.testing.assert_array_equal(value(), found[new])
            assert caught[0].filename == __file__
    assert set(names).isdisjoint(found)
    with pytest.raises(AttributeError, match="there is no result 'mass'"):
        _ = found.mass


def test_bins_are_those_of_the_current_frame() -> None:
    universe = MDAnalysis.Universe.empty(2, trajectory=True)
    universe.add_TopologyAttr("masses", [1.0, 3.0])
    universe.add_TopologyAttr("charges", [1.0, -1.0])
    cells = np.array([[8, 9, 10, 90, 90, 90], [8, 9, 14, 90, 90, 90]], np.float32)
    universe.load_new(np.array([[[1, 1, 1.5], [2, 2, 9.5]]] * 2, np.float32), dimensions=cells)
    for frame, n_bins in ((0, 10), (1, 14)):
        universe.trajectory[frame]
        ours, theirs = (
            kind(universe.atoms, binsize=1.0) for kind in (mdreel.LinearDensity, lineardensity.LinearDensity)
        )
        universe.trajectory[0]
        ours.run()
        universe.trajectory[0]
        theirs.run(start=frame)
        assert (ours.nbins, theirs.nbins) == (n_bins, n_bins)
        assert ours.results.z.slice_volume == pytest.approx(theirs.results.z.slice_volume)
        assert ours.results.z.hist_bin_edges[-1] == n_bins


def test_nothing_is_lost_in_triclinic_cells(triclinic: MDAnalysis.Universe) -> None:
    with pytest.warns(UserWarning, match="the cell is triclinic: .* unlike in MDAnalysis") as caught:
        found = mdreel.LinearDensity(triclinic.atoms, binsize=0.5).run(step=3).results
    assert [warning.filename for warning in caught] == [__file__]
    volume = np.mean([frame.volume for frame in triclinic.trajectory[::3]])
    expected = triclinic.atoms.total_mass() / volume / 0.602214076
    for axis in "xyz":
        length = triclinic.trajectory[0].triclinic_dimensions[found[axis].dim, found[axis].dim]
        slices = length / np.diff(found[axis].hist_bin_edges)[0]
        assert found[axis].mass_density.sum() / slices == pytest.approx(expected, rel=0.02)
    water = mdreel.LinearDensity(triclinic.select_atoms("resname SOL"), "residues", 2.0).run(stop=1).results.z
    inside = water.mass_density[water.mass_density > 0]
    assert 0.5 < np.median(inside) < 1.2


def test_profiles_move_with_their_atoms(boxed: MDAnalysis.Universe) -> None:
    positions = np.array([[[1.0, 2.0, 3.0], [-4.0, 30.0, 9.0]]], np.float32)
    universe = MDAnalysis.Universe.empty(2, trajectory=True)
    universe.add_TopologyAttr("masses", [12.0, 1.0])
    cell = np.array([[8, 16, 16, 90, 90, 90]], np.float32)

    def profile(positions: np.ndarray) -> np.ndarray:
        source = Source.memory(positions.astype(np.float32), np.zeros(1), cell)
        return mdreel.LinearDensity(universe.atoms, binsize=1.0, trajectory=source).run().results

    first, images = profile(positions), profile(positions + cell[0, :3] * [3, -2, 1])
    moved = profile(positions + np.float32([0, 5, 0]))
    for axis in "xyz":
        np.testing.assert_array_equal(first[axis].mass_density, images[axis].mass_density)
        assert "charge_density" not in first[axis]
    np.testing.assert_array_equal(np.roll(first.y.mass_density, 5), moved.y.mass_density)
    np.testing.assert_array_equal(first.z.mass_density, moved.z.mass_density)
    assert first.x.mass_density[[1, 4]] == pytest.approx(np.array([12.0, 1.0]) / (16 * 16) / 0.602214076)


def test_bins_and_volumes_are_those_of_the_first_frame() -> None:
    universe = MDAnalysis.Universe.empty(2, trajectory=True)
    universe.add_TopologyAttr("masses", [1.0, 3.0])
    cells = np.array([[8, 9, 10, 90, 90, 90], [8, 9, 14, 90, 90, 90]], np.float32)
    positions = np.array([[[1, 1, 1.5], [2, 2, 13.5]]] * 2, np.float32)
    source = Source.memory(positions, np.arange(2.0), cells)
    found = mdreel.LinearDensity(universe.atoms, binsize=1.0, trajectory=source).run().results.z
    assert found.slice_volume == pytest.approx(72.0)
    per_mass = 1 / 0.602214076 / 72
    np.testing.assert_allclose(found.mass_density, per_mass * np.array([0, 1, 0, 1.5, 0, 0, 0, 0, 0, 0]))
    np.testing.assert_allclose(
        found.mass_density_stddev, per_mass * np.array([0, 0, 0, 1.5, 0, 0, 0, 0, 0, 0]), atol=1e-9
    )


def test_profiles_are_bitwise_identical_for_all_executors(boxed: MDAnalysis.Universe) -> None:
    atoms = boxed.select_atoms("protein")

    def bits(grouping: str, **options: object) -> bytes:
        results = mdreel.LinearDensity(atoms, grouping, 1.0).run(**options).results
        return b"".join(results[axis][name].tobytes() for axis in "xyz" for name in QUANTITIES)

    for grouping in ("atoms", "residues"):
        expected = bits(grouping, backend="serial")
        for options in (
            {"n_parts": N_FRAMES},
            {"n_workers": 3},
            {"backend": "processes", "n_workers": 2, "n_parts": 5},
        ):
            assert bits(grouping, **options) == expected, options


def test_linear_density_refuses_invalid_input(boxed: MDAnalysis.Universe, adk_dcd: Path) -> None:
    atoms = boxed.select_atoms("name CA")
    for options, expected in (
        ({"grouping": "chains"}, "grouping must be 'atoms', 'residues', 'segments', 'fragments', not 'chains'"),
        ({"binsize": 0.0}, "binsize must be more than 0"),
        ({"binsize": float("nan")}, "binsize must be a number, not nan"),
    ):
        with pytest.raises(MismatchError, match=expected):
            mdreel.LinearDensity(atoms, **options)
    with pytest.raises(AttributeError, match="grouping must be"):
        mdreel.LinearDensity(atoms, "centroid")
    with pytest.raises(SelectionError, match="more than once"):
        mdreel.LinearDensity(atoms + atoms[:1])
    with pytest.raises(MismatchError, match="bins of 40 Å do not fit into a cell"):
        mdreel.LinearDensity(atoms, binsize=40.0).run()
    with pytest.raises(MismatchError, match="give a larger binsize"):
        mdreel.LinearDensity(atoms, binsize=1e-10).run()
    with pytest.raises(MismatchError, match="frame 0: no periodic cell"):
        mdreel.LinearDensity(MDAnalysis.Universe(PSF, adk_dcd).atoms).run()
    with pytest.raises(SelectionError, match="no masses"):
        mdreel.LinearDensity(MDAnalysis.Universe.empty(2, trajectory=True).atoms)
    bare = MDAnalysis.Universe.empty(2, trajectory=True)
    bare.add_TopologyAttr("masses", [1.0, 1.0])
    with pytest.raises(SelectionError, match="the topology has no fragments"):
        mdreel.LinearDensity(bare.atoms, "fragments")
    cells = np.array([[9, 9, 9, 90, 90, 90], [0, 0, 0, 90, 90, 90]], np.float32)
    source = Source.memory(np.ones((2, 2, 3), np.float32), np.arange(2.0), cells)
    with pytest.raises(MismatchError, match="frame 1: no periodic cell"):
        mdreel.LinearDensity(bare.atoms, trajectory=source).run()


def test_plot_labels() -> None:
    universe = MDAnalysis.Universe(waterPSF, waterDCD)
    (axes,) = mdreel.LinearDensity(universe.atoms, binsize=1.0).run().plot().axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("z (Å)", "Mass density (g/cm³)")
    assert len(axes.collections) == 1
