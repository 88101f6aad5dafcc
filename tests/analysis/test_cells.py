"""Tests of shortest images in periodic cells of any shape, and of invalid cells.

The tests run all analyses in `CASES` and all transformations in `TRANSFORMATIONS`, which must be complete.
"""

import functools
import inspect
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mdreel
import mdreel.analysis.transformations as transformations_module
from analysis_case import everything
from every_analysis import CASES, analyses
from mdreel import errors
from mdreel._core import Source
from mdreel.errors import MismatchError
from peptide_system import System, in_memory, peptide, peptide_positions

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

# Rows of a lattice of which a search of the next images finds the shortest, and multiples of the first rows that make a
# skewed cell of the same lattice.
LATTICES = {
    "skewed": ([[20.3, 0, 0], [9, 18.4, 0], [9, 6, 17.3]], (1, 2, -3)),
    "elongated": ([[16.3, 0, 0], [8, 15.4, 0], [7, 7, 60.3]], (1, -3, 4)),
}
OF_THE_ISSUE = [(30, 40, 50, 90, 140, 90), (100, 100, 10, 90, 110, 90)]
FLAT = {
    "no length": (20, 20, 0, 90, 90, 90),
    "not a number": (np.nan, 20, 20, 90, 90, 90),
    "negative": (20, -20, 20, 90, 90, 90),
    "angles of 360 degrees": (20, 20, 20, 120, 120, 120),
    "an angle above the others": (20, 20, 20, 30, 30, 90),
    "a plane": (20, 20, 20, 60, 60, 120),
}
N_FRAMES = 12


def dimensions(rows: np.ndarray) -> np.ndarray:
    """Return the lengths and angles of row vectors, float32."""
    lengths = np.linalg.norm(rows, axis=1)
    cosines = [rows[i] @ rows[k] / lengths[i] / lengths[k] for i, k in ((1, 2), (0, 2), (0, 1))]
    return np.concatenate([lengths, np.degrees(np.arccos(cosines))]).astype(np.float32)


def rows_of(cell: np.ndarray) -> np.ndarray:
    """Return row vectors for lengths and angles, with a along x and b in the xy plane."""
    a, b, c = np.asarray(cell[:3], float)
    x, y, z = np.cos(np.radians(np.asarray(cell[3:], float)))
    sine = np.sqrt(1 - z * z)
    along = c * (x - y * z) / sine
    return np.array([[a, 0, 0], [b * z, b * sine, 0], [c * y, along, np.sqrt(c * c - (c * y) ** 2 - along**2)]])


def skewed(rows: np.ndarray, multiples: tuple[int, int, int]) -> np.ndarray:
    """Return another cell of the same lattice."""
    b, of_b, of_a = multiples
    return np.array([rows[0], rows[1] + b * rows[0], rows[2] + of_b * rows[1] + of_a * rows[0]])


def shortest(vectors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Lengths of the shortest of all images of vectors, shape (n, 3), by a search that is long enough for any cell."""
    near = vectors - np.round(vectors @ np.linalg.inv(rows)) @ rows
    # Nothing is farther than the farthest corner; lattice planes are 1 / |column of the inverse| apart.
    farthest = np.linalg.norm(rows, axis=1).sum()
    reach = np.ceil(farthest * np.linalg.norm(np.linalg.inv(rows), axis=0)).astype(int)
    images = np.array(list(itertools.product(*(range(-n, n + 1) for n in reach)))) @ rows
    return np.array([np.sqrt(((vector + images) ** 2).sum(axis=1).min()) for vector in near])


def scattered(rows: np.ndarray) -> np.ndarray:
    """Positions of the peptide whose atoms are moved by lattice vectors, shape (N_FRAMES, n_atoms, 3)."""
    positions = peptide_positions()[:N_FRAMES]
    images = np.random.default_rng(8).integers(-1, 2, (1, positions.shape[1], 3))
    return (positions + images @ rows).astype(np.float32)


@pytest.fixture(autouse=True)
def _periodic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enable periodic images in every analysis that supports them."""
    for kind in analyses():
        if "pbc" in inspect.signature(kind).parameters:
            place = mdreel if hasattr(mdreel, kind.__name__) else mdreel.analysis
            monkeypatch.setattr(place, kind.__name__, functools.partial(kind, pbc=True))


def results(name: str, source: Source) -> list[np.ndarray]:
    """Return the results of an analysis."""
    return everything(CASES[name].make(System(peptide(), source)).run(backend="serial"))


def in_cells(positions: np.ndarray, cell: Any) -> Source:
    """Return frames in memory with a constant cell."""
    return in_memory(positions, np.tile(np.asarray(cell, np.float32), (len(positions), 1)))


@pytest.mark.parametrize("lattice", LATTICES)
@pytest.mark.parametrize("name", CASES)
def test_no_choice_of_the_cell_of_a_lattice_changes_what_an_analysis_finds(name: str, lattice: str) -> None:
    rows, multiples = (np.array(LATTICES[lattice][0]), LATTICES[lattice][1])
    positions = scattered(rows)
    cells = dimensions(rows), dimensions(skewed(rows, multiples))
    expected, found = (results(name, in_cells(positions, cell)) for cell in cells)
    tolerance = max(CASES[name].tolerance, 1e-3)
    for one, other in zip(found, expected, strict=True):
        if one.dtype.kind in "fiu":
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=tolerance)
        else:
            assert (one == other).mean() > 0.99


def cells() -> Iterator[np.ndarray]:
    """Return test cells, including angles of 30 to 150 degrees and edge ratios up to 20."""
    yield from (np.array(cell, np.float32) for cell in OF_THE_ISSUE)
    yield from (dimensions(skewed(np.array(rows), multiples)) for rows, multiples in LATTICES.values())
    rng = np.random.default_rng(3)
    n_more = 12
    while n_more:
        angles = rng.uniform(30, 150, 3)
        cosines = np.cos(np.radians(angles))
        if 1 - (cosines**2).sum() + 2 * cosines.prod() > 1e-2:
            n_more -= 1
            yield np.concatenate([10 * 20 ** rng.uniform(0, 1, 3), angles]).astype(np.float32)


@pytest.mark.parametrize("cell", list(cells()), ids=lambda cell: "-".join(f"{value:.0f}" for value in cell))
def test_distance_is_that_of_the_shortest_image_in_skewed_and_elongated_cells(cell: np.ndarray) -> None:
    rows = rows_of(cell)
    positions = (np.random.default_rng(1).uniform(-1, 2, (1, 40, 3)) @ rows).astype(np.float32)
    universe = mdreel_universe(40)
    first, second = universe.atoms[:20], universe.atoms[20:]
    found = mdreel.DistanceArray(first, second, trajectory=in_cells(positions, cell)).run().results.distances[0]
    vectors = positions[0, None, 20:].astype(float) - positions[0, :20, None]
    expected = shortest(vectors.reshape(-1, 3), rows).reshape(20, 20)
    np.testing.assert_allclose(found, expected, atol=2e-4)
    # The same pairs, counted by cell lists as far as images are unique, and by all pairs beyond.
    radius = 0.5 * shortest_lattice_vector(rows)
    edges = np.linspace(0, 1.5 * radius, 31)
    rdf = mdreel.InterRDF(first, second, 30, (0, edges[-1]), trajectory=in_cells(positions, cell)).run()
    near = mdreel.InterRDF(first, second, 20, (0, edges[20]), trajectory=in_cells(positions, cell)).run()
    is_clear = np.abs(expected[..., None] - edges).min() > 1e-3
    counts = np.histogram(expected, edges)[0]
    assert np.abs(np.cumsum(rdf.results.count) - np.cumsum(counts)).max() <= (0 if is_clear else 2)
    np.testing.assert_array_equal(near.results.count, rdf.results.count[:20])


def mdreel_universe(n_atoms: int) -> Any:
    """Return a topology of atoms."""
    import MDAnalysis

    return MDAnalysis.Universe.empty(n_atoms, trajectory=False)


def shortest_lattice_vector(rows: np.ndarray) -> float:
    """Return the length of the shortest lattice vector, found by an exhaustive search."""
    longest = np.linalg.norm(rows, axis=1).min()
    reach = np.ceil(longest * np.linalg.norm(np.linalg.inv(rows), axis=0)).astype(int)
    images = np.array([n for n in itertools.product(*(range(-n, n + 1) for n in reach)) if any(n)]) @ rows
    return float(np.linalg.norm(images, axis=1).min())


def test_range_warning_names_the_least_radius_of_all_frames_and_the_remedy() -> None:
    universe = mdreel_universe(30)
    positions = np.random.default_rng(2).uniform(0, 30, (5, 30, 3)).astype(np.float32)
    lengths = np.array([30.0, 24, 26, 40, 50])
    cells = np.repeat(np.array([[1, 1, 1, 90, 90, 90]], np.float32), 5, axis=0)
    cells[:, :3] *= lengths[:, None]
    source = in_memory(positions, cells)
    pair = [(universe.atoms[:3], universe.atoms[3:])]
    for norm in ("rdf", "density", "none"):
        for make in (
            lambda high, norm=norm: mdreel.InterRDF(
                universe.atoms, universe.atoms, 30, (0, high), norm, trajectory=source
            ),
            lambda high, norm=norm: mdreel.InterRDF_s(universe, pair, 30, (0, high), norm, trajectory=source),
        ):
            for options in ({}, {"n_parts": 5}):
                with pytest.warns(
                    errors.RangeWarning, match=r"15.5 Å.* 3 of 5 frames.*frame 1: 12 Å.*range=\(0, 12\)"
                ) as caught:
                    wide = make(15.5).run(**options)
                assert [warning.category for warning in caught].count(errors.RangeWarning) == 1
                assert caught[0].filename == __file__
            complete = make(12).run()
            first = np.histogram_bin_edges([], 30, (0, 15.5)).searchsorted(12) - 1
            assert np.sum(arrays(wide.results.count)[..., :first]) <= np.sum(arrays(complete.results.count))
    with pytest.warns(errors.RangeWarning, match=r"up to 15 Å.*frame 1: 12 Å.*a radius of 12 Å at most"):
        mdreel.Contacts(
            universe, (universe.atoms, universe.atoms), refgroup=None, method="count", radius=15, trajectory=source
        ).run()


def arrays(count: Any) -> np.ndarray:
    """Return the counts of one pair of groups."""
    return np.asarray(count[0] if isinstance(count, list) else count)


def test_range_warning_is_not_given_within_the_range_or_without_a_cell() -> None:
    universe = mdreel_universe(30)
    positions = np.random.default_rng(2).uniform(0, 30, (2, 30, 3)).astype(np.float32)
    # The range of a cell of float32 is half of its length in float32.
    cell = np.array([30.1, 30.1, 30.1, 90, 90, 90], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.RangeWarning)
        for high, norm, of in ((float(cell[0]) / 2, "rdf", cell), (100, "none", np.zeros(6))):
            source = in_cells(positions, of)
            mdreel.InterRDF(universe.atoms, universe.atoms, 30, (0, high), norm, trajectory=source).run()


def test_hydrogen_bond_beyond_the_unique_images_is_refused() -> None:
    source = in_cells(peptide_positions()[:2], (30, 30, 6.8, 90, 90, 90))
    with pytest.raises(MismatchError, match=r"frame 0: .* 3.6 Å apart, .* 3\.400 Å"):
        CASES["HydrogenBondAnalysis"].make(System(peptide(), source)).run()


def regards_cells(name: str, positions: np.ndarray) -> bool:
    """Return whether a cell changes the results of an analysis."""
    found = results(name, in_cells(positions, (20, 20, 20, 90, 90, 90)))
    try:
        without = results(name, in_cells(positions, np.zeros(6)))
    except MismatchError:
        return True
    return any(one.tobytes() != other.tobytes() for one, other in zip(found, without, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_cell_without_volume_is_an_error_wherever_cells_matter(name: str) -> None:
    positions = scattered(np.diag([20.0] * 3))[:3]
    if not regards_cells(name, positions):
        pytest.skip("positions are taken as they are")
    for kind, cell in FLAT.items():
        cells = np.tile(np.array((20, 20, 20, 90, 90, 90), np.float32), (3, 1))
        cells[1] = cell
        with pytest.raises(MismatchError, match=r"frame 1: expected (lengths|angles) .*cell is \[.*Correct the cell"):
            results(name, in_memory(positions, cells))
            pytest.fail(kind)


def moved(transformation: Any, source: Source) -> np.ndarray:
    """Return the positions after a transformation, shape (n_frames, n_atoms, 3)."""
    analysis = mdreel.from_function(lambda positions: positions, peptide().atoms, trajectory=source)
    found: np.ndarray = analysis.run(transformations=[transformation]).results.timeseries
    return found


def are_same(found: np.ndarray, expected: np.ndarray, _: np.ndarray) -> bool:
    """Return whether positions are equal."""
    return bool(np.allclose(found, expected, atol=1e-3))


def are_images(found: np.ndarray, expected: np.ndarray, rows: np.ndarray) -> bool:
    """Return whether positions are periodic images of each other."""
    numbers = (found - expected) @ np.linalg.inv(rows)
    return bool(np.allclose(numbers, np.round(numbers), atol=1e-3))


def unwrapped() -> Any:
    """Return whole molecules."""
    return mdreel.transformations.unwrap(peptide().atoms)


TRANSFORMATIONS: dict[str, tuple[Callable[[], Any], Callable[..., bool]]] = {
    "unwrap": (unwrapped, are_same),
    "wrap": (lambda: mdreel.transformations.wrap(peptide().atoms), are_images),
    "center_in_box": (lambda: mdreel.transformations.center_in_box(peptide().atoms, point=(1.0, 2.0, 3.0)), are_same),
    "fit_rot_trans": (lambda: mdreel.transformations.fit_rot_trans(peptide().atoms, reference_universe()), are_same),
    "nojump": (lambda: mdreel.transformations.nojump("lattice"), are_same),
    "nojump, toroidal": (lambda: mdreel.transformations.nojump("toroidal"), are_same),
}


def reference_universe() -> Any:
    """Return the peptide with positions."""
    universe = peptide()
    universe.load_new(peptide_positions()[:1])
    return universe.atoms


def test_every_transformation_is_listed() -> None:
    made = {
        name
        for name, function in inspect.getmembers(transformations_module, inspect.isfunction)
        if function.__module__ == transformations_module.__name__
        and str(inspect.signature(function).return_annotation).rpartition(".")[2] == "Transformation"
    }
    assert made == {name.partition(",")[0] for name in TRANSFORMATIONS}


@pytest.mark.parametrize("lattice", LATTICES)
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_no_choice_of_the_cell_of_a_lattice_changes_what_a_transformation_does(name: str, lattice: str) -> None:
    rows, multiples = (np.array(LATTICES[lattice][0]), LATTICES[lattice][1])
    images = np.random.default_rng(9).integers(-1, 2, (N_FRAMES, peptide_positions().shape[1], 3))
    positions = (peptide_positions()[:N_FRAMES] + images @ rows).astype(np.float32)
    make, agrees = TRANSFORMATIONS[name]
    cells = dimensions(rows), dimensions(skewed(rows, multiples))
    expected, found = (moved(make(), in_cells(positions, cell)) for cell in cells)
    assert agrees(found, expected, rows)


def test_molecules_are_whole_in_a_skewed_cell() -> None:
    rows, multiples = (np.array(LATTICES["skewed"][0]), LATTICES["skewed"][1])
    bonds = peptide().atoms.bonds.indices
    expected = np.linalg.norm(
        peptide_positions()[:N_FRAMES, bonds[:, 0]] - peptide_positions()[:N_FRAMES, bonds[:, 1]], axis=2
    )
    found = moved(unwrapped(), in_cells(scattered(rows), dimensions(skewed(rows, multiples))))
    np.testing.assert_allclose(
        np.linalg.norm(found[:, bonds[:, 0]] - found[:, bonds[:, 1]], axis=2), expected, atol=1e-3
    )
