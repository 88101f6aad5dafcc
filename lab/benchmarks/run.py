"""Make the data, measure mdreel and its peers, write the tables: ``python lab/benchmarks/run.py``."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import advice
import channels
import channels_table
import environment
import formats_table
import measure
import recording
import results
import startup
import table
from analyses import ANALYSES
from cases import RMSD
from contender import HERE, REPOSITORY, Contender, build, job, ours
from executors import EXECUTORS, N_WORKERS, on_backend
from formats import READING
from mdreel_lab.bench import data
from storage import STORAGE

LONG = 500_000
RESULTS = HERE / "results"
MIB = 2**20
MEMORY_BOUND = 150.0
IMPORT_BOUND = 0.15
HELP_BOUND = 0.3
WORKERS_BOUND = 1.5
RECORDING_BOUND = 1.0
BUDGET_MIB = 1024

PLANS = RMSD | READING | STORAGE | EXECUTORS | ANALYSES
"""The cases by name, in the order in which they run."""


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder for the trajectories")
    parser.add_argument("--frames", type=int, default=50_000, help="frames of the protein in vacuum (adk)")
    parser.add_argument("--water-frames", type=int, default=2_000, help="frames of the protein in water")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each contender")
    parser.add_argument("--only", action="append", choices=[*PLANS, *MEASURES], help="this case alone; may be repeated")
    parser.add_argument("--memory", action="store_true", help="the same as --only memory")
    parser.add_argument("--long", action="store_true", help=f"also cases with {LONG:,} frames (6 GB more of data)")
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
    return chosen


def log(line: str) -> None:
    """Show progress."""
    print(line, file=sys.stderr, flush=True)


def lengths(chosen: argparse.Namespace) -> dict[str, int]:
    """Return the number of frames of each system."""
    return {"adk": chosen.frames, "water": chosen.water_frames}


def measure_case(name: str, chosen: argparse.Namespace, facts: dict[str, Any]) -> bool:
    """Measure one case and keep its result; return whether mdreel and all peers that are installed did the job."""
    plan = PLANS[name]
    n_frames = LONG if plan.long and not chosen.quick else lengths(chosen)[plan.system]
    log(f"{name}: making data")
    system = data.make(plan.system, n_frames, chosen.data, plan.forms)
    case = plan.case(system, name)
    n_frames = case.system.n_frames
    log(f"{name}: {case.title}, {n_frames:,} frames")
    with measure.in_memory(system.trajectory(case.form)):
        records = measure.in_turn(case.contenders, chosen.rounds, n_frames, chosen.data / "cache", log)
    results.save(chosen.results, name, results.from_records(case, records, facts))
    return all(
        record.seconds for record in records if record.contender.kind == "ours" or record.contender.missing() is None
    )


def measure_memory(chosen: argparse.Namespace, facts: dict[str, Any]) -> bool:
    """Measure mdreel's memory with 2 threads on short and long trajectories and keep the result."""
    runs = [("xtc", chosen.frames), ("dcd", chosen.frames)]
    if chosen.long and not chosen.quick:
        runs.append(("xtc", LONG))
    figures = []
    for form, n_frames in runs:
        log(f"memory: {form}, {n_frames:,} frames")
        system = data.make("adk", n_frames, chosen.data, (form,))
        for index in ("kept", "none") if form == "xtc" else ("kept",):
            contender = _memory_contender(system, form, index)
            record = measure.in_turn([contender], 1, n_frames, chosen.data / "cache", log)[0]
            if not record.seconds:
                return False
            found = record.result
            what = f"{form.upper()}, {n_frames:,} frames" + (", first pass" if index == "none" else "")
            for mark, text in (("imported", "import mdreel"), ("ready", "MDAnalysis and the topology as well")):
                value = (found["peak_bytes"] - found[f"{mark}_bytes"]) / MIB
                figures.append(results.bounded(f"{what}: above `{text}`", value, MEMORY_BOUND, "MiB"))
    page = {"title": "Peak anonymous memory of the RMSD job, 2 threads", "environment": facts, "figures": figures}
    results.save(chosen.results, "memory", page)
    return True


def _memory_contender(system: data.System, form: str, index: str) -> Contender:
    work = job(system, form, way="threads", n_workers=2)
    command = (sys.executable, "-m", "memory", work.to_json())
    return replace(ours(system, form, "start", 2, index), label=f"memory, index {index}", command=command)


def measure_budget(chosen: argparse.Namespace, facts: dict[str, Any]) -> bool:
    """Measure the memory that all processes of a run with a budget take together and keep the result."""
    log(f"budget: {N_WORKERS} workers, {2 * LONG:,} frames, {BUDGET_MIB:,} MiB")
    system = data.make("adk", LONG, chosen.data, ("xtc",))
    figures = []
    for backend in ("processes", "mpi", "dask"):
        contender = on_backend(system, backend, N_WORKERS, 2)
        contender = replace(
            contender, command=(*contender.command[:-2], "memory", contender.command[-1], f"{BUDGET_MIB}M")
        )
        record = measure.in_turn([replace(contender, cores=2)], 1, 2 * LONG, chosen.data / "cache", log)[0]
        if not record.seconds:
            return False
        for key, text in (("peak_bytes", "seen from outside"), ("said_bytes", "as `timing.peak_bytes` says")):
            what = f"{contender.label.removeprefix('mdreel, ')}, and who called them: {text}"
            figures.append(results.bounded(what, record.result[key] / MIB, BUDGET_MIB, "MiB"))
    title = f'Peak anonymous memory of all processes, {2 * LONG:,} frames of XTC, `memory="{BUDGET_MIB}M"`'
    results.save(chosen.results, "budget", {"title": title, "environment": facts, "figures": figures})
    return True


def measure_startup(chosen: argparse.Namespace, facts: dict[str, Any]) -> bool:
    """Measure how long mdreel takes to start and keep the result."""
    log("startup")
    try:
        figures = [
            results.bounded("`import mdreel` beyond numpy", startup.import_seconds(), IMPORT_BOUND, "s"),
            results.bounded("`mdreel --help`", startup.help_seconds(), HELP_BOUND, "s"),
            *(
                results.bounded(f"`mdreel rmsd` of 98 frames, {text} beyond serial", seconds, WORKERS_BOUND, "s")
                for text, seconds in startup.workers_seconds().items()
            ),
        ]
    except RuntimeError as error:
        log(f"  FAILED: {str(error).splitlines()[-1]}")
        return False
    title = f"Start-up, medians of {startup.REPEATS}"
    results.save(chosen.results, "startup", {"title": title, "environment": facts, "figures": figures})
    return True


def measure_recording(chosen: argparse.Namespace, facts: dict[str, Any]) -> bool:
    """Measure what recording spans costs at most and keep the result."""
    log("recording")
    try:
        span = recording.span_seconds(chosen.data / "cache")
    except RuntimeError as error:
        log(f"  FAILED: {error}")
        return False
    figures = []
    for name, form in (("adk", "xtc"), ("adk", "dcd"), ("water", "xtc")):
        n_frames = lengths(chosen)[name]
        system = data.make(name, n_frames, chosen.data, (form,))
        for n_workers in (1, 2):
            what = f"{form.upper()} of {name}, {n_frames:,} frames, {n_workers} thread{'s' * (n_workers > 1)}"
            figures.append(results.bounded(what, recording.share(system, form, n_workers, span), RECORDING_BOUND, "%"))
    title = f"Recording spans, share of the RMSD job at {1e9 * span:.0f} ns a span"
    results.save(chosen.results, "recording", {"title": title, "environment": facts, "figures": figures})
    return True


def measure_advice(chosen: argparse.Namespace, facts: dict[str, Any]) -> bool:
    """Measure how far what `mdreel advise` predicts is from what is measured and keep the result."""
    log("advice")
    figures = advice.figures(lengths(chosen), chosen.rounds, chosen.data, log)
    if figures is None:
        return False
    title = f"What `mdreel advise` predicts for {advice.N_WORKERS} threads"
    results.save(chosen.results, "advice", {"title": title, "environment": facts, "figures": figures})
    return True


def measure_channels(chosen: argparse.Namespace, facts: dict[str, Any]) -> bool:
    """Measure channels and their peers and keep the result."""
    return channels.measure(chosen, facts, log)


MEASURES = {
    "memory": measure_memory,
    "budget": measure_budget,
    "startup": measure_startup,
    "recording": measure_recording,
    "advice": measure_advice,
    "channels": measure_channels,
}
"""What is measured besides cases, by name."""


def write_tables(chosen: argparse.Namespace) -> None:
    """Write the tables from all results there are, of this run and of earlier ones."""
    cases = {name: kept for name in PLANS if (kept := results.load(chosen.results, name))}
    pages = {name: kept for name in MEASURES if (kept := results.load(chosen.results, name))}
    if page_of_channels := pages.pop("channels", None):
        results.write(chosen.results / "channels.md", channels_table.full(page_of_channels))
        print(channels_table.full(page_of_channels))
    figures = list(pages.values())
    groups: dict[str, Any] = {
        "table.md": RMSD,
        "analyses.md": ANALYSES,
        "executors.md": EXECUTORS,
        "formats.md": READING | STORAGE,
    }
    for page_name, plans in groups.items():
        there = [cases[name] for name in plans if name in cases]
        beside = figures if plans is RMSD else []
        if there or beside:
            page = table.full(there, beside)
            results.write(chosen.results / page_name, page)
            print(page)
    short = {
        REPOSITORY / "README.md": table.short([cases[name] for name in RMSD if name in cases]),
        HERE / "README.md": formats_table.short([cases[name] for name in READING if name in cases]),
    }
    for readme, text in short.items() if chosen.results == RESULTS else ():
        if not table.insert(readme, text):
            log(f"{readme} has no {table.BEGIN}: its table was not written")


def main() -> int:
    """Run; return 1 if a contender failed, else 0."""
    chosen = arguments()
    long = {name for name, plan in PLANS.items() if plan.long} | {"budget"}
    selected = chosen.only or [name for name in (*PLANS, *MEASURES) if chosen.long or name not in long]
    if chosen.make_data:
        for name in [name for name in PLANS if name in selected]:
            n_frames = LONG if PLANS[name].long and not chosen.quick else lengths(chosen)[PLANS[name].system]
            data.make(PLANS[name].system, n_frames, chosen.data, PLANS[name].forms)
        return 0
    if len(os.sched_getaffinity(0)) < 2:
        log("only 1 core may be used: what needs 2 will be left out")
    for problem in build():
        log(f"could not build {problem}")
    facts = environment.describe()
    good = True
    for name in selected:
        good &= MEASURES[name](chosen, facts) if name in MEASURES else measure_case(name, chosen, facts)
    write_tables(chosen)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
