"""Cost of reporters for an OpenMM simulation: to a channel, with or without a consumer, and to files.

A box of water is simulated. In each round, each reporter gets the same steps in random order: the simulation goes back
to the same checkpoint before each of them. The steps without a reporter are measured twice in each round. The times of
the others are divided by both of these times. The ratio of the two is a control that shows the noise. Another control
is a reporter that asks for the state only, which shows the least that any reporter costs.

Rounds are short, because other work on the machine comes and goes: many short rounds have a better median than a few
long ones. The processor time of the simulation's process is measured beside the time on the clock. It varies less, and
it leaves out the consumer.
"""

import random
import statistics
from collections.abc import Sequence
from math import ceil, sqrt
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mdreel_lab.bench.contests.openmm_reporters import INTERVAL, REPORTERS, OpenReporters, water
from mdreel_lab.bench.contests.pages import bounded
from mdreel_lab.bench.contests.rounds import Settings
from mdreel_lab.bench.processes import ProcessError

BOUND = 2.5
"""Largest cost of a channel with a consumer, % of the time of the steps."""

NONE, AGAIN = "no reporter", "no reporter, again"

_N_MOLECULES, _QUICK_MOLECULES = 576, 64
_N_STEPS = 5 * INTERVAL
"""Steps of a measurement. Five steps precede them, and the last frame is published five steps before their end, so that
the work of the consumer on each frame is within the measurement."""

_EARLY_STEPS = INTERVAL // 2
_ROUNDS = 30
"""Rounds for each round that the command line asks for."""

_MOST_SECONDS = 300.0
"""Time after which no further round begins."""

_MOST_DEVIATION = 1e-3
"""Largest distance between the same atom after the same steps, in nm. Sums of forces are not in a fixed order."""


class Median(NamedTuple):
    """Median of ratios, with its 95 % confidence interval and the quartiles of the ratios, in % above 1."""

    median: float
    low: float
    high: float
    lower_quartile: float
    upper_quartile: float

    def __str__(self) -> str:
        interval = f"{self.low:+.2f} to {self.high:+.2f}"
        quartiles = f"{self.lower_quartile:+.2f} to {self.upper_quartile:+.2f}"
        return f"{self.median:+.2f} % (95 % interval {interval}, quartiles {quartiles})"


def median_of(ratios: Sequence[float], per_round: int = 1) -> Median:
    """Return the median of ratios in % above 1, with the interval that order statistics give.

    Parameters
    ----------
    ratios : sequence of float
        The ratios of all rounds.
    per_round : int
        Number of ratios from each round. They depend on each other, so the interval is that of one ratio from each.
    """
    shares = sorted(100 * (ratio - 1) for ratio in ratios)
    n_shares = len(shares)
    rank = max(0, ceil(n_shares * (0.5 - 0.98 / sqrt(n_shares / per_round))) - 1)
    lower, middle, upper = np.percentile(shares, (25, 50, 75)).tolist()
    return Median(middle, shares[rank], shares[-1 - rank], lower, upper)


def measure(settings: Settings) -> dict[str, Any]:
    """Measure the share of the time of a simulation that each reporter takes."""
    n_molecules = _QUICK_MOLECULES if settings.is_quick else _N_MOLECULES
    n_rounds = 2 if settings.is_quick else _ROUNDS * settings.rounds
    simulation = water(n_molecules)
    with OpenReporters(simulation) as reporters:
        rounds = _rounds(simulation, reporters.by_name, n_rounds)
        reporters.check((len(rounds) + 1) * _N_STEPS // INTERVAL)  # the first round is not counted
    figures = []
    for name in (AGAIN, *REPORTERS):
        bases = (NONE,) if name == AGAIN else (NONE, AGAIN)
        clock, processor = (
            median_of([times[name][kind] / times[base][kind] for times in rounds for base in bases], len(bases))
            for kind in ("clock", "processor")
        )
        text = f"{name}: {clock}; processor time {processor}"
        settings.log(f"  {text}")
        figures.append(bounded(text, clock.median, BOUND, "%") | {"processor": processor._asdict()})
    step = 1e3 * statistics.median(times[NONE]["clock"] for times in rounds) / _N_STEPS
    box = f"{3 * n_molecules:,} atoms, {step:.2g} ms a step, {len(rounds)} rounds of {_N_STEPS} steps"
    return {"title": f"What reporting every {INTERVAL} steps costs OpenMM: {box}", "figures": figures, "rounds": rounds}


def _rounds(simulation: Any, reporters: dict[str, Any], n_rounds: int) -> list[dict[str, dict[str, float]]]:
    """Return the times of the steps with each reporter in each round, in s, without a first round that warms up."""
    order = random.Random(1)  # noqa: S311 - an order, no secret
    variants: dict[str, list[Any]] = {NONE: [], AGAIN: []} | {name: [one] for name, one in reporters.items()}
    rounds: list[dict[str, dict[str, float]]] = []
    begin = perf_counter()
    while len(rounds) <= n_rounds and (len(rounds) < 2 or perf_counter() - begin < _MOST_SECONDS):
        simulation.step(INTERVAL - simulation.currentStep % INTERVAL)
        start = simulation.context.createCheckpoint()
        times, ends = {}, {}
        for name in order.sample(list(variants), len(variants)):
            simulation.context.loadCheckpoint(start)
            times[name], ends[name] = _steps(simulation, variants[name])
        for name, end in ends.items():
            distance = float(np.abs(end - ends[NONE]).max())
            if not distance < _MOST_DEVIATION:
                raise ProcessError(f"{name}: other steps than without a reporter, atoms are {distance:.2g} nm apart")
        rounds.append(times)
    return rounds[1:]


def _steps(simulation: Any, reporters: Sequence[Any]) -> tuple[dict[str, float], NDArray[np.float64]]:
    """Return the times of steps with the given reporters, in s, and the positions after them, in nm."""
    from openmm import unit

    simulation.reporters.clear()
    simulation.step(_EARLY_STEPS)
    simulation.reporters[:] = reporters
    processor, clock = process_time(), perf_counter()
    simulation.step(_N_STEPS)
    times = {"clock": perf_counter() - clock, "processor": process_time() - processor}
    simulation.reporters.clear()
    state = simulation.context.getState(positions=True)
    return times, state.getPositions(asNumpy=True).value_in_unit(unit.nanometer)
