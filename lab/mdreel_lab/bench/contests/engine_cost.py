"""What reporting costs an OpenMM simulation: to a channel, with or without a consumer, and to files.

A box of water is simulated with one thread. In each round, every reporter gets the same number of steps of the same
simulation in turn, and the steps without a reporter are the measure of the others.
"""

import multiprocessing
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from mdreel_lab.bench.contests.pages import bounded
from mdreel_lab.bench.contests.rounds import Settings
from mdreel_lab.bench.processes import ProcessError

INTERVAL = 10
"""Steps between two frames."""

BOUND = 2.5
"""Largest cost of a channel with a consumer, % of the time of the steps."""

_N_MOLECULES, _QUICK_MOLECULES = 576, 64
_N_STEPS, _QUICK_STEPS = 1000, 20
_STEP_PS = 0.002

_NONE = "no reporter"

Reporting = Callable[[Any, Path], AbstractContextManager[None]]
"""Context in which a simulation reports, with files in a folder."""


def measure(settings: Settings) -> dict[str, Any]:
    """Measure the share of the time of a simulation that each reporter takes."""
    n_molecules, n_steps = (_QUICK_MOLECULES, _QUICK_STEPS) if settings.is_quick else (_N_MOLECULES, _N_STEPS)
    simulation = _water(n_molecules)
    seconds: dict[str, list[float]] = {name: [] for name in _REPORTING}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(2 if settings.is_quick else 2 * settings.rounds + 1):
            for name, reporting in _REPORTING.items():
                with reporting(simulation, Path(folder)):
                    begin = perf_counter()
                    simulation.step(n_steps)
                    elapsed = perf_counter() - begin
                if number:  # the first round warms the process
                    seconds[name].append(elapsed)
    figures = []
    for name, times in seconds.items():
        if name == _NONE:
            continue
        shares = [100 * (one / alone - 1) for one, alone in zip(times, seconds[_NONE], strict=True)]
        text = f"{name}: {min(shares):.2g} to {max(shares):.2g} %"
        figures.append(bounded(text, statistics.median(shares), BOUND, "%"))
        settings.log(f"  {text}, median {statistics.median(shares):.2g} %")
    step = 1e3 * statistics.median(seconds[_NONE]) / n_steps
    box = f"{3 * n_molecules:,} atoms, one thread, {step:.2g} ms a step"
    return {"title": f"What reporting every {INTERVAL} steps costs OpenMM: {box}", "figures": figures}


def _water(n_molecules: int) -> Any:
    """Return a simulation of a box of water."""
    try:
        import openmm
        from openmm import app, unit
    except ImportError as error:
        raise ProcessError("this case needs openmm: pip install 'mdreel[openmm]'") from error

    field = app.ForceField("tip3p.xml")
    model = app.Modeller(app.Topology(), [] * unit.nanometer)
    model.addSolvent(field, numAdded=n_molecules)
    edge = min(model.topology.getUnitCellDimensions().value_in_unit(unit.nanometer))
    cutoff = min(0.9, 0.45 * edge) * unit.nanometer
    system = field.createSystem(model.topology, nonbondedMethod=app.PME, nonbondedCutoff=cutoff)
    bath = (300 * unit.kelvin, 1 / unit.picosecond, _STEP_PS * unit.picosecond)
    platform = openmm.Platform.getPlatformByName("CPU")
    simulation = app.Simulation(
        model.topology, system, openmm.LangevinMiddleIntegrator(*bath), platform, {"Threads": "1"}
    )
    simulation.context.setPositions(model.positions)
    simulation.minimizeEnergy(maxIterations=50)
    simulation.context.setVelocitiesToTemperature(300)
    return simulation


@contextmanager
def _without(simulation: Any, folder: Path) -> Iterator[None]:
    simulation.reporters.clear()
    yield


@contextmanager
def _file(simulation: Any, folder: Path, ending: str) -> Iterator[None]:
    from openmm import app

    makers = {"xtc": app.XTCReporter, "dcd": app.DCDReporter}
    path = folder / f"run.{ending}"
    simulation.reporters[:] = [makers[ending](str(path), INTERVAL)]
    yield
    simulation.reporters.clear()  # closes the file
    path.unlink()


@contextmanager
def _channel(simulation: Any, folder: Path, has_consumer: bool) -> Iterator[None]:
    from mdreel.live import OpenMMReporter, Producer

    path = folder / "channel"
    with Producer(path, simulation.system.getNumParticles(), time_step=_STEP_PS) as producer:
        process = multiprocessing.get_context("spawn").Process(target=_consume, args=(path,), daemon=True)
        if has_consumer:
            process.start()
            producer.await_consumers(1, timeout=60)
        simulation.reporters[:] = [OpenMMReporter(producer, INTERVAL)]
        yield
        simulation.reporters.clear()
    if has_consumer:
        process.join()
        if process.exitcode:
            raise ProcessError(f"the consumer has failed with status {process.exitcode}")


def _consume(path: Path) -> None:
    from mdreel.live import Consumer

    with Consumer(path) as consumer:
        for frame in consumer:
            assert frame.positions is not None
            frame.positions.sum()


_REPORTING: dict[str, Reporting] = {
    _NONE: _without,
    "XTC reporter of OpenMM": lambda simulation, folder: _file(simulation, folder, "xtc"),
    "DCD reporter of OpenMM": lambda simulation, folder: _file(simulation, folder, "dcd"),
    "channel without a consumer": lambda simulation, folder: _channel(simulation, folder, has_consumer=False),
    "channel with a consumer": lambda simulation, folder: _channel(simulation, folder, has_consumer=True),
}
