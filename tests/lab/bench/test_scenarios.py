"""Scenarios: checked before anything is run, with errors that say where."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from mdreel.errors import MismatchError
from mdreel.execution.access import ACCESSES
from mdreel_lab.bench.exchange.catalogue import SOLUTIONS, SYNCHRONISATIONS
from mdreel_lab.bench.exchange.models import MODELS
from mdreel_lab.bench.exchange.points import ExchangePoint, exchange_points_of
from mdreel_lab.bench.exchange.scenario import Exchange
from mdreel_lab.bench.grid import Point, points_of
from mdreel_lab.bench.plans import plan
from mdreel_lab.bench.scenario import SIZES, Scenario
from mdreel_lab.bench.scenario_files import find_scenarios, read_scenario, schema_of_scenarios, shipped

SCENARIO = """
title = "A scenario"
figures = ["seconds"]
tables = ["scaling", "ratios"]

[data]
cache = "cold"

[small]
factor = 0.01
workers = [1, 2]
repeats = 2

[[grid]]
executor = ["threads", "mpi"]
format = ["xtc", "dcd"]
schedule = "static"

[[grid]]
label = "gathered"
executor = "mpi"
communication = "gather"
workers = 2

[[published]]
source = "a paper"
quantity = "speed-up"
label = "theirs"
points = [[24, 17], [72, 10.5]]
"""


def scenario_of(folder: Path, text: str = SCENARIO) -> Scenario:
    path = folder / "mine.toml"
    path.write_text(text)
    scenario = read_scenario(path)
    assert isinstance(scenario, Scenario)
    return scenario


def test_scenario_is_what_its_file_says(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path)
    assert scenario.title == "A scenario"
    assert scenario.data.cache == "cold"
    assert scenario.grid[0].executor == ("threads", "mpi")
    assert scenario.grid[0].schedule == ("static",)
    assert scenario.grid[1].workers == (2,)
    assert scenario.published[0].points == ((24.0, 17.0), (72.0, 10.5))
    assert scenario.small.factor == (0.01,)
    assert scenario.full.repeats == 1


def test_grid_can_have_other_frames_at_the_small_size_alone(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, SCENARIO.replace('label = "gathered"', "small-factor = 0.02"))
    frames = {name: [point.n_frames for point in points_of("mine", scenario, scenario.size(name))] for name in SIZES}
    assert set(frames["small"]) == {42, 84}
    assert set(frames["full"]) == {4187}


def test_points_are_the_combinations_one_repeat_after_the_other(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path)
    points = points_of("mine", scenario, scenario.small)
    assert len(points) == 2 * (2 * 2 * 2 + 1)
    assert len({point.key for point in points}) == len(points)
    assert [point.repeat for point in points] == [1] * 9 + [2] * 9
    assert {point.n_frames for point in points} == {42}
    assert {point.series for point in points} == {
        "threads, XTC",
        "threads, DCD",
        "mpi, XTC",
        "mpi, DCD",
        "gathered",
    }


def test_point_that_is_done_differently_has_another_record(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path)
    other = scenario_of(tmp_path, SCENARIO.replace('cache = "cold"', 'cache = "warm"'))
    keys = {point.key for point in points_of("mine", scenario, scenario.small)}
    assert keys.isdisjoint(point.key for point in points_of("mine", other, other.small))
    assert keys == {point.key for point in points_of("mine", scenario_of(tmp_path), scenario.small)}


def test_serial_programs_have_one_worker(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, SCENARIO.replace('["threads", "mpi"]', '["serial"]'))
    points = points_of("mine", scenario, scenario.small)
    assert {point.n_workers for point in points if point.executor == "serial"} == {1}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (('title = "A scenario"', ""), "mine.toml: title is missing"),
        (('title = "A scenario"', "title = 1"), "title: expected a text, got 1"),
        (('title = "A scenario"', 'titel = "A scenario"'), "unknown name 'titel'; known: title, paper"),
        (('cache = "cold"', 'cache = "cool"'), "data: cache: expected one of warm, cold, copy, got 'cool'"),
        (("repeats = 2", "repeats = 0"), "small: repeats: must be 1 or more, not 0"),
        (("workers = [1, 2]", "workers = []"), "small: workers: expected at least one value"),
        (("workers = [1, 2]", 'workers = [1, "2"]'), "small: workers: expected a whole number, got '2'"),
        (("workers = [1, 2]", "workers = true"), "small: workers: expected a whole number, got True"),
        (("factor = 0.01", "factor = -1"), "small: factor must be more than 0, not -1"),
        (("factor = 0.01", "factor = nan"), "small: factor must be more than 0, not nan"),
        (('format = ["xtc", "dcd"]', 'format = "pdb"'), "grid 1: format: expected one of xtc, trr, dcd, ncdf, h5md"),
        (('executor = "mpi"', 'executor = "dask"'), "grid 2: communication is for executor = 'mpi'"),
        (('executor = "mpi"', 'program = "gmx"\nexecutor = "mpi"'), "grid 2: gmx has no executor 'mpi'; it has serial"),
        (('executor = "mpi"', 'access = "hdf5-independent"\nexecutor = "mpi"'), "grid 2: access = 'hdf5-independent'"),
        (
            ('["xtc", "dcd"]\n', '["xtc", "dcd"]\naccess = "mpiio"\n'),
            "grid 1: access = 'mpiio' is for executor = 'mpi'",
        ),
        (
            ('communication = "gather"', 'access = "mpiio-collective"\nformat = "xtc"'),
            "grid 2: access = 'mpiio-collective' needs schedule = 'static'",
        ),
        (('label = "gathered"', 'frames = "memory"\naccess = "shared"'), "grid 2: frames = 'memory' have no access"),
        (
            ('["threads", "mpi"]', '["threads", "processes"]\nframes = "memory"'),
            "grid 1: frames = 'memory' are made before the run, but processes begin with it",
        ),
        (
            ('executor = "mpi"', 'program = "published"\nexecutor = "mpi"'),
            "grid 2: program = 'published' needs schedule = 'static'",
        ),
        (
            (
                'executor = "mpi"\ncommunication = "gather"',
                'program = "published"\nexecutor = "processes"\nschedule = "static"\naccess = "chain"',
            ),
            "grid 2: program = 'published' has access and frames for executor = 'mpi'",
        ),
        (
            (
                'communication = "gather"',
                'program = "published"\nformat = "h5md"\nschedule = "static"\naccess = "hdf5-collective"',
            ),
            "grid 2: program = 'published' has no access = 'hdf5-collective'",
        ),
        (
            ('communication = "gather"', 'communication = "window"\nprogram = "published"\nschedule = "static"'),
            "grid 2: program = 'published' has communication = 'gather' or 'global-arrays'",
        ),
        (
            ('["xtc", "dcd"]\n', '["xtc", "dcd"]\nprogram = "published"\naccess = "hdf5-collective"\n'),
            "grid 1: published has no executor 'threads'; it has mpi, processes, distributed",
        ),
        (('label = "gathered"', "ratio = 3\nload = 2"), "grid 2: give either load or ratio"),
        (('label = "gathered"', 'ratio = 3\nframes = "memory"'), "grid 2: frames = 'memory' have no ratio"),
        (('label = "gathered"', "small-factor = 0"), "grid 2: small-factor must be more than 0"),
        (("points = [[24, 17], [72, 10.5]]", "points = [24, 17]"), "published 1: points: expected 2 values, got 24"),
        (('figures = ["seconds"]', 'figures = ["pie"]'), "figures: expected one of seconds, speed-up"),
        (("[data]", "[[data]]"), "data: expected a table, got [{"),
        (("[data]", "[data"), "no TOML"),
        (("[[grid]]", "[[grid_]]"), "unknown name 'grid_'"),
    ],
)
def test_what_is_wrong_with_a_scenario_is_said(tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    wrong = SCENARIO.replace(*change)
    assert wrong != SCENARIO
    with pytest.raises(MismatchError) as caught:
        scenario_of(tmp_path, wrong)
    assert expected in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "mine.toml"))


def test_workloads_and_programs_must_suit(tmp_path: Path) -> None:
    for line, expected in (
        ('workload = "dihedrals"\n', "grid 2: load is for the workload rmsd of mdreel"),
        ('workload = "split"\n', "grid 1: the workload split is for executor = 'threads' and 'mpi'"),
    ):
        text = line + SCENARIO.replace('label = "gathered"', "load = [1, 40]")
        text = text.replace('["threads", "mpi"]', '["threads", "dask"]') if "split" in line else text
        with pytest.raises(MismatchError) as caught:
            scenario_of(tmp_path, text)
        assert expected in str(caught.value)


def test_scenario_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match="there is no scenario '2016'; known: 2017-dask-mpi"):
        find_scenarios("2016")
    with pytest.raises(FileNotFoundError):
        read_scenario(find_scenarios(str(tmp_path / "none.toml"))[0])


def test_pattern_stands_for_all_scenarios_of_such_names() -> None:
    found = [path.stem for path in find_scenarios("2019-*")]
    assert found == [name for name in shipped() if name.startswith("2019")]
    assert len(found) > 3


@pytest.mark.parametrize("name", shipped())
def test_every_scenario_that_ships_is_good(name: str) -> None:
    path = shipped()[name]
    scenario = read_scenario(path)
    for size in SIZES:
        points = plan(name, scenario, size)
        assert points
        assert len({point.key for point in points}) == len(points)
    if isinstance(scenario, Exchange):
        series = {point.series for point in plan(name, scenario, "small")}
        assert {name for claim in scenario.claim for name in claim.slower + claim.faster} <= series
    else:
        assert all(paper.points for paper in scenario.published)
    assert not list(validator().iter_errors(tomllib.loads(path.read_text())))


@pytest.mark.parametrize("name", ["published-workloads", "2024-models"])
def test_number_of_repeats_can_be_given(name: str) -> None:
    scenario = read_scenario(shipped()[name])
    once, thrice = (plan(name, scenario, "small", repeats) for repeats in (1, 3))
    assert len(thrice) == 3 * len(once)
    assert {point.repeat for point in thrice} == {1, 2, 3}
    usual = {point.key for point in plan(name, scenario, "small")}
    assert {point.key for point in once} <= usual, "only the repeats differ, so a later run with more of them goes on"


def test_scenarios_cover_the_papers() -> None:
    points = [point for name in shipped() for point in of_scenario(name)]
    assert {point.load for point in points} >= {1, 40, 70, 100}
    assert {point.format for point in points} >= {"dcd", "xtc", "ncdf", "h5md"}
    assert {point.access for point in points} >= set(ACCESSES)
    assert {point.communication for point in points} >= {"gather", "window", "global-arrays"}
    assert {point.program for point in points} == {"mdreel", "mdanalysis", "mdtraj", "gmx", "dask", "published"}
    assert {point.ratio for point in points} == {0.0, 0.3, 11.0, 19.0, 27.0, 100.0}
    assert {point.n_tasks for point in points} == {0, 100_000}
    assert {point.parts_per_worker for point in points} == {0, 3}
    assert {point.frames for point in points} == {"file", "memory"}
    assert {point.workload for point in points} == {"rmsd", "distance-array", "dihedrals", "empty-tasks", "split"}
    assert max(point.n_frames for point in points) == 600 * 4187
    exchanged = [point for name in shipped() for point in plan_of_exchange(name)]
    assert {point.solution for point in exchanged} == set(SOLUTIONS) - {"local"}
    assert {point.synchronisation for point in exchanged} == {"own", *SYNCHRONISATIONS}
    assert {point.model for point in exchanged} == set(MODELS)
    assert {point.stride for point in exchanged if "strides" in point.scenario} == {1, 5, 10, 50}
    assert {point.n_pairs for point in exchanged} == {1, 2, 4, 8, 16, 32, 64, 128, 256}
    assert {point.n_frames for point in exchanged} == {128}


def of_scenario(name: str) -> list[Point]:
    scenario = read_scenario(shipped()[name])
    return points_of(name, scenario, scenario.full) if isinstance(scenario, Scenario) else []


def plan_of_exchange(name: str) -> list[ExchangePoint]:
    scenario = read_scenario(shipped()[name])
    return exchange_points_of(name, scenario, scenario.full) if isinstance(scenario, Exchange) else []


def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema_of_scenarios())


def test_schema_describes_scenarios() -> None:
    good = tomllib.loads(SCENARIO)
    validator().check_schema(schema_of_scenarios())
    assert not list(validator().iter_errors(good))
    for wrong in (
        {**good, "more": 1},
        {**good, "grid": []},
        {**good, "small": {"repeats": 0}},
        {**good, "grid": [{"executor": "gpu"}]},
        {**good, "published": [{"source": "a", "quantity": "speed-up", "label": "b", "points": [[1]]}]},
        {name: value for name, value in good.items() if name != "title"},
    ):
        assert list(validator().iter_errors(wrong))


def test_schema_in_the_documentation_is_that_of_the_program() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "schemas" / "scenario.schema.json"
    assert json.loads(page.read_text()) == schema_of_scenarios()
