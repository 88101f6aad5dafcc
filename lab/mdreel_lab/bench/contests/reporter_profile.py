"""Times of the parts of a report in OpenMM: ``python -m mdreel_lab.bench.contests.reporter_profile``.

The simulation computes its steps between two reports, so that the parts are measured with caches as they are in use.
All reporters take turns, report by report. Times are medians on the clock, and of the processor in the calling thread.
"""

import argparse
import statistics
from collections import defaultdict
from collections.abc import Callable
from time import perf_counter, thread_time
from typing import Any

from mdreel_lab.bench.contests.openmm_reporters import ALONE, CONSUMED, INTERVAL, OpenReporters, water

STATE_PART, REPORT, PUBLISH, REQUESTS = "get the state", "report", "publish", "look for requests"
_CONVERT = "convert and the rest"

Times = dict[str, dict[str, list[tuple[float, float]]]]


def main() -> None:
    """Print the profile as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--molecules", type=int, default=576, help="molecules of water")
    parser.add_argument("--reports", type=int, default=200, help="reports of each reporter")
    chosen = parser.parse_args()
    if min(chosen.molecules, chosen.reports) < 1:
        parser.error("molecules and reports must be at least 1")
    simulation = water(chosen.molecules)
    with OpenReporters(simulation) as reporters:
        times = profile(simulation, reporters, chosen.reports)
        reporters.check(chosen.reports)
    print(table(times))


def profile(simulation: Any, reporters: OpenReporters, n_reports: int) -> Times:
    """Return the times of each part of each report of all reporters, on the clock and of the processor, in s."""
    times: Times = {name: defaultdict(list) for name in reporters.by_name}
    running = [""]

    def record(owner: Any, method: str, part: str) -> None:
        call: Callable[..., Any] = getattr(owner, method)

        def timed(*values: Any, **named: Any) -> Any:
            processor, clock = thread_time(), perf_counter()
            result = call(*values, **named)
            clock, processor = perf_counter() - clock, thread_time() - processor
            times[running[0]][part].append((clock, processor))
            return result

        setattr(owner, method, timed)

    for producer in reporters.producers.values():
        record(producer, "publish", PUBLISH)
        record(producer, "requests", REQUESTS)
    for reporter in reporters.by_name.values():
        record(reporter, "report", REPORT)
    record(simulation.context, "getState", STATE_PART)
    for _ in range(n_reports):
        for name, reporter in reporters.by_name.items():
            running[0] = name
            simulation.reporters[:] = [reporter]
            simulation.step(INTERVAL)
    for name in (ALONE, CONSUMED):
        parts = times[name]
        whole = zip(parts[REPORT], parts[PUBLISH], parts[REQUESTS], strict=True)
        parts[_CONVERT] = [(a[0] - b[0] - c[0], a[1] - b[1] - c[1]) for a, b, c in whole]
    return times


def table(times: Times) -> str:
    """Return the medians as a table in Markdown."""
    parts = (STATE_PART, REPORT, _CONVERT, PUBLISH, REQUESTS)
    lines = [" | ".join(("µs, clock (processor)", *parts)), " | ".join(("---", *["--:"] * len(parts)))]
    lines += [" | ".join((name, *(_medians(found.get(part, [])) for part in parts))) for name, found in times.items()]
    return "\n".join(f"| {line} |" for line in lines)


def _medians(pairs: list[tuple[float, float]]) -> str:
    if not pairs:
        return ""
    clock, processor = (1e6 * statistics.median(column) for column in zip(*pairs, strict=True))
    return f"{clock:.3g} ({processor:.3g})"


if __name__ == "__main__":
    main()
