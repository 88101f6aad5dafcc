"""Tests of the errors for user code that produces no results."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.base import AnalysisBase as TheirAnalysisBase
from MDAnalysis.analysis.base import AnalysisFromFunction
from MDAnalysisTests.datafiles import PSF

import mdreel
from mdreel.analysis.user.reducers import REDUCERS
from mdreel.errors import FunctionError, MismatchError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
BACKENDS = ["serial", "threads", "processes"]
BINS = {"histogram": {"bins": 5, "range": (0, 100)}}


@pytest.fixture(scope="module")
def atoms(adk_xtc: Path) -> MDAnalysis.AtomGroup:
    return MDAnalysis.Universe(PSF, str(adk_xtc)).select_atoms("resid 1:5")


def nothing(_: Any) -> None:
    """Compute a value without returning it."""


class Tall:
    """A function that returns numbers, but None or another value once an atom has moved."""

    def __init__(self, at: float, otherwise: Any = None) -> None:
        self.at, self.otherwise, self.__name__ = at, otherwise, "tall"

    def __call__(self, positions: np.ndarray) -> Any:
        return self.otherwise if positions[0, 0] == self.at else 1.0


def merge_in_place(one: list[float], other: list[float]) -> None:
    one.extend(other)


class Outside(mdreel.AnalysisBase):
    """An analysis that stores values in attributes instead of results."""

    def _prepare(self) -> None:
        self.values: list[float] = []

    def _single_frame(self) -> None:
        self.values.append(self.atomgroup.center_of_mass()[0])


class OutsideOfInit(Outside):
    def __init__(self, atoms: MDAnalysis.AtomGroup) -> None:
        super().__init__(atoms)
        self.values = []

    def _prepare(self) -> None:
        pass


class ConcludesFromOutside(Outside):
    def _conclude(self) -> None:
        self.results.values = np.array(self.values)


class KeepsSomething(Outside):
    """An analysis with results whose conclusion reads another attribute."""

    def _single_frame(self) -> None:
        super()._single_frame()
        self.results.setdefault("frames", []).append(self._ts.frame)

    def _conclude(self) -> None:
        self.results.values = np.array(self.values)


class KeepsSomethingOfInit(KeepsSomething):
    def __init__(self, atoms: MDAnalysis.AtomGroup) -> None:
        super().__init__(atoms)
        self.values = []

    def _prepare(self) -> None:
        pass


class CountsInClass(KeepsSomething):
    values = 0  # type: ignore[assignment]

    def _prepare(self) -> None:
        pass

    def _single_frame(self) -> None:
        self.values += 1
        self.results.setdefault("frames", []).append(self._ts.frame)


class AddsToArray(KeepsSomethingOfInit):
    def __init__(self, atoms: MDAnalysis.AtomGroup) -> None:
        super().__init__(atoms)
        self.values = np.zeros(3)  # type: ignore[assignment]

    def _single_frame(self) -> None:
        self.values += self.atomgroup.center_of_mass()
        self.results.setdefault("frames", []).append(self._ts.frame)


class Returns(mdreel.AnalysisBase):
    def _single_frame(self) -> float:  # type: ignore[override]
        return float(self.atomgroup.center_of_mass()[0])


OWN = [Outside, OutsideOfInit, ConcludesFromOutside, Returns]
BESIDE = [KeepsSomething, KeepsSomethingOfInit, CountsInClass, AddsToArray]


class Theirs(TheirAnalysisBase):  # type: ignore[misc]
    """An MDAnalysis analysis that stores values in attributes instead of results."""

    _analysis_algorithm_is_parallelizable = True

    @classmethod
    def get_supported_backends(cls) -> tuple[str, ...]:
        return ("serial", "multiprocessing")

    def __init__(self, atomgroup: MDAnalysis.AtomGroup) -> None:
        super().__init__(atomgroup.universe.trajectory)
        self.atomgroup, self.values = atomgroup, []

    def _single_frame(self) -> None:
        self.values.append(self.atomgroup.center_of_mass()[0])

    def _get_aggregator(self) -> Any:
        from MDAnalysis.analysis.results import ResultsGroup

        return ResultsGroup({})


def _ways(atoms: MDAnalysis.AtomGroup) -> dict[str, Callable[[dict[str, Any]], Any]]:
    """Return all ways to run user code, each with code that produces no results."""
    universe = atoms.universe
    ways: dict[str, Callable[[dict[str, Any]], Any]] = {}
    for reduce in (None, mdreel.analysis.Reducer(max), *(name for name in REDUCERS if name != "discard")):
        for per in ("frame", "block"):
            own = mdreel.from_function(nothing, atoms, per=per, reduce=reduce, **BINS.get(str(reduce), {}))
            ways[f"from_function, {per}, {reduce}"] = lambda how, own=own: own.run(**how)
    ways |= {
        f"AnalysisBase, {kind.__name__}": lambda how, kind=kind: kind(atoms).run(**how) for kind in (*OWN, *BESIDE)
    }

    def backend(how: dict[str, Any]) -> dict[str, Any]:
        return {"backend": mdreel.mdanalysis.backend(**how), "n_parts": 2}

    ways["backend, AnalysisBase"] = lambda how: Theirs(atoms).run(**backend(how))
    of_function = AnalysisFromFunction(nothing, universe.trajectory, atoms)
    ways["backend, AnalysisFromFunction"] = lambda how: of_function.run(**backend(how))
    return ways


@pytest.mark.parametrize("backend", BACKENDS)
def test_code_that_leaves_nothing_is_an_error_whichever_way_it_is_given(
    atoms: MDAnalysis.AtomGroup, backend: str
) -> None:
    how = {"name": backend} | ({"n_workers": 2} if backend != "serial" else {})
    ways = _ways(atoms)
    if backend == "processes":  # each of which takes a while to start
        ways = {name: run for name, run in ways.items() if "from_function" not in name or "block" in name}
        ways = {
            name: run for name, run in ways.items() if not any(reducer in name for reducer in ("sum", "min", "std"))
        }
    for name, run in ways.items():
        given = how if name.startswith("backend") else {"backend": backend, "step": 9, "n_parts": 3}
        expected = "returned nothing|has stored nothing|only self.results comes back from workers"
        with pytest.raises(FunctionError, match=expected):
            run(given)
            pytest.fail(name)


def test_all_that_takes_code_of_users_is_among_these_ways() -> None:
    packages = (mdreel, mdreel.analysis, mdreel.transformations, mdreel.trajectory, mdreel.live)
    public = {name: getattr(package, name) for package in packages for name in package.__all__}
    taking = set()
    for name, given in public.items():
        if not callable(given) or (isinstance(given, type) and issubclass(given, BaseException)):
            continue
        parameters = inspect.signature(given).parameters.values()
        if any("Callable" in str(one.annotation) for one in parameters):
            taking.add(name)
    # The others are told of progress and events, and return nothing.
    taking -= {"Hub", "Relay", "Server", "archive", "ask", "relay", "serve"}
    # `test_distance_matrix.py` tests the metric of a DistanceMatrix, `test_contacts.py` the method of Contacts.
    assert taking <= {"Contacts", "DistanceMatrix", "Reducer", "from_function"}
    own = {name for name, kind in public.items() if inspect.isclass(kind) and "_single_frame" in dir(kind)}
    assert own == {"AnalysisBase"}


@pytest.mark.parametrize("reduce", [None, "mean", "std", "max", "histogram", mdreel.analysis.Reducer(max)], ids=str)
def test_function_that_returns_nothing_for_one_frame_is_an_error_that_names_it(
    atoms: MDAnalysis.AtomGroup, reduce: Any
) -> None:
    at = [float(atoms.positions[0, 0]) for _ in atoms.universe.trajectory][40]
    with pytest.raises(FunctionError, match=r"frame 40: the function tall\(\) returned nothing \(None\)"):
        mdreel.from_function(Tall(at), atoms, reduce=reduce, **BINS.get(str(reduce), {})).run()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], r"returned an empty array, shape \(0,\)"),
        (np.zeros((2, 0)), r"returned an empty array, shape \(2, 0\)"),
        ("1.5", "returned str: expected a number"),
        ({"a": 1.0}, "returned dict: expected a number"),
        ([1.0, None], r"returned list, object in shape \(2,\)"),
        (1 + 2j, "returned complex: expected a number"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "returned MaskedArray"),
        ((1.0 for _ in "ab"), "returned generator"),
        ([[1.0], [1.0, 2.0]], "ValueError"),
    ],
    ids=["empty", "empty table", "text", "dict", "None among", "complex", "masked", "generator", "ragged"],
)
def test_function_that_returns_no_numbers_is_an_error(atoms: MDAnalysis.AtomGroup, value: Any, expected: str) -> None:
    for reduce in (None, "sum", "min"):
        with pytest.raises(FunctionError, match=f"frame 0: .*{expected}"):
            mdreel.from_function(lambda _: value, atoms, reduce=reduce).run()
    at = [float(atoms.positions[0, 0]) for _ in atoms.universe.trajectory][40]
    with pytest.raises(FunctionError, match=f"frame 40: .*(?:{expected})"):
        mdreel.from_function(Tall(at, value), atoms).run(backend="serial")


def test_reducer_that_returns_nothing_is_an_error(atoms: MDAnalysis.AtomGroup) -> None:
    def listed(positions: np.ndarray) -> list[float]:
        return positions[:, 0, 0].tolist()

    expected = r"merge_in_place\(\), the merge function of the reducer, returned nothing"
    for n_parts, per in ((1, "frame"), (7, "block")):
        with pytest.raises(FunctionError, match=expected):
            given = listed if per == "block" else lambda positions: [positions[0, 0]]
            reducer = mdreel.analysis.Reducer(merge_in_place)
            mdreel.from_function(given, atoms, per=per, reduce=reducer).run(n_parts=n_parts)
    with pytest.raises(FunctionError, match=r"nothing\(\), the finish function of the reducer, returned nothing"):
        mdreel.from_function(lambda _: 1, atoms, reduce=mdreel.analysis.Reducer(max, finish=nothing)).run()


@pytest.mark.parametrize("backend", BACKENDS)
def test_side_effects_alone_are_declared(atoms: MDAnalysis.AtomGroup, backend: str, tmp_path: Path) -> None:
    def write(positions: np.ndarray) -> None:
        np.save(tmp_path / f"{positions[0, 0]:.9f}.npy", positions)

    class Writes(mdreel.AnalysisBase):
        _has_results = False

        def _single_frame(self) -> None:
            self.atomgroup.write(tmp_path / f"{self._ts.frame}.gro")

    found = mdreel.from_function(write, atoms, reduce="discard").run(step=10, backend=backend)
    assert dict(found.results) == {}
    assert found.n_frames == len([*tmp_path.glob("*.npy")]) == 10
    assert dict(Writes(atoms).run(step=10, backend=backend).results) == {}
    assert {path.name for path in tmp_path.glob("*.gro")} == {f"{i}.gro" for i in range(0, 98, 10)}


def test_error_at_a_side_effect_is_not_followed_by_another(atoms: MDAnalysis.AtomGroup) -> None:
    called = []

    def fails(positions: np.ndarray) -> None:
        called.append(len(positions))
        raise RuntimeError("disk full")

    with pytest.raises(FunctionError, match="disk full"):
        mdreel.from_function(fails, atoms, per="block", reduce="discard").run(
            n_parts=1, backend="serial", frames=[3, 4]
        )
    assert len(called) <= 2  # once more, at most, if the run is done again by frames


def test_what_is_the_same_in_workers_is_there_in_conclude(atoms: MDAnalysis.AtomGroup) -> None:
    class Sound(mdreel.AnalysisBase):
        scale = 2.0

        def __init__(self, atoms: MDAnalysis.AtomGroup) -> None:
            super().__init__(atoms)
            self.edges, self.n = np.linspace(0, 1, 5), 7

        @property
        def doubled(self) -> float:
            return 2 * self.scale

        def _prepare(self) -> None:
            self.edges, self.n = np.linspace(0, 1, 5), 7  # as they were
            self.results.seen = []

        def _single_frame(self) -> None:
            self.results.seen.append(self._frame_index)
            self.beside = 3

        def _conclude(self) -> None:
            self.beside = 4
            self.results.found = (self.edges[-1], self.n, self.doubled, self.beside, type(self).__name__, self.n_frames)

    sound = Sound(atoms).run(n_parts=4)
    assert sound.results.found == (1.0, 7, 4.0, 4, "Sound", 98)
    assert type(sound) is Sound
    assert sound.beside == 4


def test_frame_of_a_worker_is_not_there_in_conclude(atoms: MDAnalysis.AtomGroup) -> None:
    class Late(KeepsSomething):
        def _conclude(self) -> None:
            self.results.last = self._ts.frame

    with pytest.raises(AttributeError, match=r"self\._ts exists in _single_frame only"):
        Late(atoms).run()


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_block_begins_with_the_state_that_was_sent(atoms: MDAnalysis.AtomGroup, backend: str) -> None:
    class Remembers(mdreel.AnalysisBase):
        def __init__(self, atoms: MDAnalysis.AtomGroup) -> None:
            super().__init__(atoms)
            self.memory: list[int] = []

        def _prepare(self) -> None:
            self.results.known = []

        def _single_frame(self) -> None:
            self.memory.append(self._ts.frame)
            self.results.known.append(len(self.memory))

    known = Remembers(atoms).run(n_parts=7, backend=backend).results.known
    assert known.count(1) == 7
    assert max(known) == 14


def test_results_of_some_blocks_alone_are_refused(atoms: MDAnalysis.AtomGroup) -> None:
    class Rare(mdreel.AnalysisBase):
        def _single_frame(self) -> None:
            self.results.setdefault("frames", []).append(self._ts.frame)
            if self._ts.frame == 90:
                self.results.hits = [90]

    class Total(mdreel.AnalysisBase):
        def _prepare(self) -> None:
            self.results.total = np.zeros(3)

        def _single_frame(self) -> None:
            self.results.total += self.atomgroup.center_of_mass()

    with pytest.raises(MismatchError, match=r"results\.hits is missing in 6 of 7 blocks of frames: set it in _prepare"):
        Rare(atoms).run(n_parts=7)
    with pytest.raises(MismatchError, match=r"results\.total has 3 entries in a block of 14 frames"):
        Total(atoms).run(n_parts=7)
