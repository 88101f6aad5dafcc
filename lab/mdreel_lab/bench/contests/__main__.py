"""Benchmarks of mdreel and its peers: ``python -m mdreel_lab.bench.contests`` measures and writes the tables."""

import argparse
import math
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mdreel_lab.bench.cache_state import held_in_memory
from mdreel_lab.bench.contests import advice, engine_cost, memory, pages, recording, second_thread, startup
from mdreel_lab.bench.contests.cases import PAGES, Cases, read_cases
from mdreel_lab.bench.contests.contenders import build, entrant_of, entrants_of, job_of
from mdreel_lab.bench.contests.rounds import LONG_FRAMES, Settings, in_turn, launch
from mdreel_lab.bench.contests.speed_figure import write_speed_figure
from mdreel_lab.bench.data import System, make
from mdreel_lab.bench.environment import BENCHMARKS, REPOSITORY, environment_with_peers
from mdreel_lab.bench.exchange import latency, latency_page
from mdreel_lab.bench.processes import ProcessError
from mdreel_lab.bench.records import write_json, write_text

RESULTS = BENCHMARKS / "results"

SPEED_FIGURE = "docs/figures/speed.svg"
"""Figure of the README, from the root of the repository."""

SERIAL_SECONDS = 35.0
"""Time of one worker for which efficiencies are measured, long compared with start-up."""

FIGURES: Mapping[str, Callable[[Settings], dict[str, Any]]] = {
    "memory": memory.measure,
    "budget": memory.measure_budget,
    "startup": startup.measure,
    "recording": recording.measure,
    "advice": advice.measure,
    "second-thread": second_thread.measure,
    "engine-cost": engine_cost.measure,
}
"""Measures of mdreel alone."""

CHANNELS = "channels"


def main() -> int:
    """Run; return 1 if a contender failed, else 0."""
    cases = read_cases()
    settings, chosen = _settings(cases)
    long = {name for name, case in cases.by_name.items() if case.long} | {"budget"}
    every = (*cases.by_name, *FIGURES, CHANNELS)
    selected = chosen.only or [name for name in every if chosen.long or name not in long]
    if chosen.make_data:
        for name in selected:
            if name in cases.by_name:
                _system(name, cases, settings)
        return 0
    if len(os.sched_getaffinity(0)) < 2:
        settings.log("only 1 core may be used: what needs 2 will be left out")
    for problem in build() if any(name in cases.by_name for name in selected) else ():
        settings.log(f"could not build {problem}")
    environment = environment_with_peers()
    n_good = sum(_measure(name, cases, settings, environment) for name in selected)
    _write_pages(cases, settings)
    return 0 if n_good == len(selected) else 1


def _settings(cases: Cases) -> tuple[Settings, argparse.Namespace]:
    """Return the settings that the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m mdreel_lab.bench.contests",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    names = [*cases.by_name, *FIGURES, CHANNELS]
    parser.add_argument("--data", type=Path, default=BENCHMARKS / "data", help="folder for the trajectories")
    parser.add_argument("--frames", type=int, default=50_000, help="frames of the protein in vacuum (adk)")
    parser.add_argument("--water-frames", type=int, default=2_000, help="frames of the protein in water")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each contender")
    parser.add_argument("--only", action="append", choices=names, help="this case alone; may be repeated")
    parser.add_argument("--memory", action="store_true", help="the same as --only memory")
    long = f"also cases with {LONG_FRAMES:,} frames (6 GB more of data)"
    parser.add_argument("--long", action="store_true", help=long)
    parser.add_argument("--quick", action="store_true", help="small data, 1 round, nothing in the repository changed")
    parser.add_argument("--make-data", action="store_true", help="make the data and stop")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.frames, chosen.water_frames, chosen.rounds = 1_000, 40, 1
        chosen.results = chosen.data / "quick-results"
    if min(chosen.frames, chosen.water_frames, chosen.rounds) < 1:
        parser.error("frames and rounds must be at least 1")
    chosen.only = (chosen.only or []) + (["memory"] if chosen.memory else [])
    lengths = {"adk": chosen.frames, "water": chosen.water_frames}
    log = partial(print, file=sys.stderr, flush=True)
    settings = Settings(chosen.data, chosen.results, lengths, chosen.rounds, chosen.long, chosen.quick, log)
    return settings, chosen


def _measure(name: str, cases: Cases, settings: Settings, environment: dict[str, Any]) -> bool:
    """Measure and keep the result; return whether mdreel and all peers that are installed did the job."""
    settings.log(name)
    if name in cases.by_name:
        return _measure_case(name, cases, settings, environment)
    if name == CHANNELS:
        return latency.measure(settings.data, settings.results, environment, settings.log, is_quick=settings.is_quick)
    try:
        page = FIGURES[name](settings)
    except ProcessError as error:
        settings.log(f"  FAILED: {error}")
        return False
    write_json(settings.results / f"{name}.json", page | {"environment": environment})
    return True


def _system(name: str, cases: Cases, settings: Settings) -> System:
    case = cases.by_name[name]
    n_frames = settings.long_frames(case.system) if case.long else settings.lengths[case.system]
    return make(case.system, n_frames, settings.data, (case.format,))


def _measure_case(name: str, cases: Cases, settings: Settings, environment: dict[str, Any]) -> bool:
    case, system = cases.by_name[name], _system(name, cases, settings)
    times = case.times or _times(cases, system)
    n_frames = -(-times * system.n_frames // case.step)
    settings.log(f"{name}: {case.title}, {n_frames:,} frames")
    entrants = entrants_of(case, cases.contenders_of(case), system, times)
    with held_in_memory(system.trajectory(case.format)):
        runs = in_turn(entrants, settings.rounds, n_frames, settings.cache, settings.log)
    records = [run.record(name, n_frames) for run in runs]
    pages.keep_case(settings.results / f"{name}.json", case, system, n_frames, records, environment)
    return all(run.seconds for run in runs if run.kind == "ours" or run.entrant.missing() is None)


def _times(cases: Cases, system: System) -> int:
    """Return an even number of times to read the file, so that one worker takes long enough."""
    case = replace(cases.by_name["efficiency"], times=1)
    serial = cases.contenders[case.file]["serial"]
    with tempfile.TemporaryDirectory() as cache:
        seconds: float = launch(entrant_of(serial, job_of(case, serial, system, 1)), Path(cache))["seconds"]
    return 2 * math.ceil(SERIAL_SECONDS / seconds / 2)


def _write_pages(cases: Cases, settings: Settings) -> None:
    """Write the pages from all results there are, of this run and of earlier ones."""
    folder = settings.results

    def kept(*names: str) -> list[pages.Page]:
        return [page for name in names if (page := pages.load(folder / f"{name}.json"))]

    for page in kept(CHANNELS):
        _write_page(folder / f"{CHANNELS}.md", latency_page.full(page))
    for name, files in PAGES.items():
        found = kept(*cases.names_of(*files), *(FIGURES if name == "table" else ()))
        if found:
            _write_page(folder / f"{name}.md", pages.full(found))
            write_text(folder / f"{name}.csv", pages.csv_of(found))
    if folder == RESULTS:
        table = kept(*cases.names_of("table"))
        write_speed_figure(REPOSITORY / SPEED_FIGURE, table)
        for readme, text in (
            (REPOSITORY / "README.md", pages.of_readme(table, SPEED_FIGURE)),
            (BENCHMARKS / "README.md", pages.of_formats(kept(*cases.names_of("formats")))),
        ):
            if not pages.insert(readme, text):
                settings.log(f"{readme} has no {pages.BEGIN}: it was not changed")


def _write_page(path: Path, text: str) -> None:
    write_text(path, text)
    print(text)


if __name__ == "__main__":
    sys.exit(main())
