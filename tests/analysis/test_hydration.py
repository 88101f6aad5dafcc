"""Survival probabilities and orientational relaxation in shells, against loops over frames and molecules."""

import math
from itertools import pairwise

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.lib.mdamath import triclinic_vectors
from MDAnalysisTests.datafiles import TPR, XTC

import mdreel
from mdreel._core import Source
from mdreel.analysis import SurvivalProbability, WaterOrientationalRelaxation
from mdreel.analysis.hydration.decay_time import decay_line, decay_time
from mdreel.errors import MdreelWarning, MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
SHELL = "name OW and around 3.5 (resid 1:60)"


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(TPR, XTC)


@pytest.fixture(scope="module")
def presence(universe: MDAnalysis.Universe) -> list[set[int]]:
    """Atoms that MDAnalysis selects in each frame."""
    group = universe.select_atoms(SHELL, updating=True)
    return [set(group.ix.tolist()) for _ in universe.trajectory]


def filled(presence: list[set[int]], intermittency: int) -> list[set[int]]:
    """Return the sets with short absences filled, atom by atom and frame by frame."""
    found = [set(one) for one in presence]
    for atom in set().union(*presence):
        there = [t for t, one in enumerate(presence) if atom in one]
        for first, last in pairwise(there):
            if last - first - 1 <= intermittency:
                for t in range(first, last):
                    found[t].add(atom)
    return found


def probabilities(presence: list[set[int]], tau_max: int, window_step: int) -> list[float]:
    """Return the definition of the survival probability, window by window."""
    found = [1.0]
    for tau in range(1, tau_max + 1):
        starts = [t for t in range(0, len(presence) - tau, window_step) if presence[t]]
        stayed = [len(set.intersection(*presence[t : t + tau + 1])) / len(presence[t]) for t in starts]
        found.append(sum(stayed) / len(stayed) if stayed else math.nan)
    return found


@pytest.mark.parametrize("given", [(4, 1, 0), (6, 2, 0), (4, 1, 1), (3, 1, 5)])
def test_survival_is_that_of_the_definition(
    universe: MDAnalysis.Universe, presence: list[set[int]], given: tuple[int, int, int]
) -> None:
    run = SurvivalProbability(universe, SHELL, *given).run()
    expected = probabilities(filled(presence, given[2]), *given[:2])
    np.testing.assert_allclose(run.results.sp_timeseries, expected, rtol=1e-14)
    assert run.results.tau_timeseries.tolist() == [*range(given[0] + 1)]
    np.testing.assert_allclose(run.results.lag_times, 100 * np.arange(given[0] + 1))
    assert run.results.counts.tolist() == [len(one) for one in presence]


def test_survival_of_residues_counts_any_of_their_atoms(universe: MDAnalysis.Universe) -> None:
    words = "resname SOL and around 3.5 (resid 1:60)"
    group = universe.select_atoms(words, updating=True)
    presence = [set(group.resindices.tolist()) for _ in universe.trajectory]
    run = SurvivalProbability(universe, words, 4, residues=True).run()
    np.testing.assert_allclose(run.results.sp_timeseries, probabilities(presence, 4, 1), rtol=1e-14)


def test_survival_is_that_of_the_selection(universe: MDAnalysis.Universe) -> None:
    shares = mdreel.Selection(universe, SHELL).run(step=2).survival(3, 1, 1)[1]
    found = SurvivalProbability(universe, SHELL, 3, 1, 1).run(step=2).results
    np.testing.assert_array_equal(found.sp_timeseries, shares)
    np.testing.assert_allclose(found.lag_times, [0, 200, 400, 600])


def functions(
    universe: MDAnalysis.Universe, presence: list[set[int]], tau_max: int, order: int, window_step: int | None
) -> np.ndarray:
    """Return the definition of the three correlation functions, pair by pair."""
    frames = [(ts.positions.astype(np.float64), triclinic_vectors(ts.dimensions)) for ts in universe.trajectory]

    def units(t: int, oxygen: int) -> list[np.ndarray]:
        positions, cell = frames[t]
        hydrogens = []
        for one in (1, 2):
            vector = positions[oxygen + one] - positions[oxygen]
            hydrogens.append(min((vector + cell.T @ shift for shift in SHIFTS), key=np.linalg.norm))
        kinds = hydrogens[0], hydrogens[1] - hydrogens[0], hydrogens[0] + hydrogens[1]
        return [kind / np.linalg.norm(kind) for kind in kinds]

    found = []
    for tau in range(tau_max + 1):
        means = []
        for t in range(0, len(frames) - tau, max(tau, 1) if window_step is None else window_step):
            both = presence[t] & presence[t + tau]
            if both:
                cosines = np.array([[a @ b for a, b in zip(units(t, i), units(t + tau, i), strict=True)] for i in both])
                means.append((cosines if order == 1 else 1.5 * cosines**2 - 0.5).mean(axis=0))
        found.append(np.mean(means, axis=0))
    return np.array(found)


SHIFTS = [np.array([i, j, k]) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]


@pytest.mark.parametrize(("order", "window_step"), [(2, 1), (1, 3), (2, None)])
def test_correlation_functions_are_those_of_the_definition(
    universe: MDAnalysis.Universe, presence: list[set[int]], order: int, window_step: int | None
) -> None:
    few = [set(sorted(one)[::9]) for one in presence]
    oxygens = sorted(set().union(*few))
    words = f"({SHELL}) and index {' '.join(map(str, oxygens))}"
    present = [one & set(oxygens) for one in presence]
    run = WaterOrientationalRelaxation(universe, words, 3, order, window_step).run()
    expected = functions(universe, present, 3, order, window_step)
    found = np.column_stack([run.results[name] for name in ("oh", "hh", "dipole")])
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(found[0], 1, atol=1e-12)
    assert run.results.counts.tolist() == [len(one) for one in present]
    n_pairs = [
        sum(len(present[t] & present[t + tau]) for t in range(0, 10 - tau, window_step or max(tau, 1)))
        for tau in range(4)
    ]
    assert run.results.n_pairs.tolist() == n_pairs


def test_molecules_across_the_boundary_do_not_matter(universe: MDAnalysis.Universe) -> None:
    """Move all atoms and wrap each of them. Rectangular cells of the example make this easy."""
    atoms = universe.select_atoms("resname SOL")[:3000]
    frames, cells = mdreel.read(universe, atoms).positions[:4], np.tile(np.float32([60, 60, 60, 90, 90, 90]), (4, 1))
    part = MDAnalysis.Merge(atoms)

    def found(positions: np.ndarray) -> list[np.ndarray]:
        source = Source.memory(np.ascontiguousarray(positions, np.float32), np.arange(4.0), cells)
        results = WaterOrientationalRelaxation(part, "name OW", 3, trajectory=source).run().results
        return [results[name] for name in ("oh", "hh", "dipole")]

    for one, other in zip(found(frames), found((frames + np.float32([7, 21, 40])) % 60), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_time_of_an_exponential_is_found() -> None:
    times = np.arange(0, 101.0)
    values = np.exp(-times / 12.5)
    assert decay_time(times, values, "exponential") == pytest.approx(12.5, rel=1e-9)
    assert decay_time(times, 0.7 * values, "exponential", begin=5.0) == pytest.approx(12.5, rel=1e-9)
    assert decay_time(times, values, "integral") == pytest.approx(12.5, rel=2e-3)
    values[40:] = np.nan
    assert decay_time(times, values, "exponential") == pytest.approx(12.5, rel=1e-9)
    with pytest.warns(MdreelWarning, match="20% are left after 20 ps, so the integral is too small: raise tau_max"):
        assert decay_time(times, values, "integral", end=20.0) < 12.5
    for wrong, message in (
        ((times[:2], values[:2], "integral"), "3 values or more, got 2 values"),
        ((times, np.ones(101), "exponential"), "do not decay from 0 to 100 ps"),
        ((times, values, "sum"), "must be 'exponential' or 'integral', not 'sum'"),
    ):
        with pytest.raises(MismatchError, match=message):
            decay_time(*wrong)
    assert decay_line("time", lambda: decay_time(times, np.ones(101), "exponential")).startswith("time")


def test_residence_and_relaxation_times_are_those_of_the_functions(universe: MDAnalysis.Universe) -> None:
    staying = SurvivalProbability(universe, SHELL, 5).run()
    expected = decay_time(staying.results.lag_times, staying.results.sp_timeseries, "integral")
    assert staying.residence_time("integral") == expected
    turning = WaterOrientationalRelaxation(universe, SHELL, 5).run()
    expected = decay_time(turning.results.lag_times, turning.results.hh, "integral")
    assert turning.relaxation_time("hh", "integral") == expected
    with pytest.raises(MismatchError, match="vector must be 'oh', 'hh' or 'dipole', not 'ho'"):
        turning.relaxation_time("ho")


def test_invalid_input_is_refused(universe: MDAnalysis.Universe) -> None:
    for given, message in (
        ((0,), "not 0, 1 and 0"),
        ((3, 0), "not 3, 0 and 0"),
        ((3, 1, -1), "not 3, 1 and -1"),
    ):
        with pytest.raises(MismatchError, match=message):
            SurvivalProbability(universe, SHELL, *given)
    with pytest.raises(MismatchError, match="tau_max must be at most 2, the number of frames, not 20"):
        SurvivalProbability(universe, SHELL).run(stop=2)
    with pytest.raises(MismatchError, match="tau_max must be less than 2, the number of frames, not 3"):
        WaterOrientationalRelaxation(universe, SHELL, 3).run(stop=2)
    with pytest.raises(MismatchError, match="order must be 1 or 2, not 3"):
        WaterOrientationalRelaxation(universe, SHELL, order=3)
    with pytest.raises(SelectionError, match=r"has 1 oxygen and .* hydrogen atoms, but a water molecule has 1 and 2"):
        WaterOrientationalRelaxation(universe, "name O and around 5 name OW")
    with pytest.raises(SelectionError, match="no oxygen atoms of water"):
        WaterOrientationalRelaxation(universe, "name CA and around 5 name OW")
    for molecules, message in (
        ([[0, 1]], "of the shape"),
        ([[0.5, 1, 2]], "of float64"),
        ([[0, 1, 10**6]], "indices below 47,681"),
        ([[0, 1, 2], [0, 3, 4]], "different oxygen atoms"),
    ):
        with pytest.raises(MismatchError, match=message):
            WaterOrientationalRelaxation(universe, "index 0 and around 9 all", molecules=molecules)
    with pytest.raises(SelectionError, match="contains no oxygen of molecules"):
        WaterOrientationalRelaxation(universe, "index 0 and around 9 all", molecules=[[1, 2, 3]])


def test_empty_shell_is_a_warning(universe: MDAnalysis.Universe) -> None:
    with pytest.warns(MdreelWarning, match="no atom is selected in any frame"):
        found = SurvivalProbability(universe, "name OW and around 0.1 name CA", 2).run()
    np.testing.assert_array_equal(found.results.sp_timeseries, [1, np.nan, np.nan])
    with pytest.warns(MdreelWarning, match="no atom is selected in any frame"):
        turning = WaterOrientationalRelaxation(universe, "name OW and around 0.1 name CA", 2).run()
    assert np.isnan(turning.results.dipole).all()
    assert turning.results.n_pairs.tolist() == [0, 0, 0]
