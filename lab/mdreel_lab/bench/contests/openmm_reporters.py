"""A simulation of water in OpenMM, and the reporters whose cost is measured on it."""

import multiprocessing
import tempfile
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from mdreel_lab.bench.exchange.places import MEMORY
from mdreel_lab.bench.processes import ProcessError

INTERVAL = 10
"""Steps between two frames."""

STATE = "state only, without a reporter's work"
XTC, DCD = "XTC reporter of OpenMM", "DCD reporter of OpenMM"
ALONE, CONSUMED = "channel without a consumer", "channel with a consumer"

REPORTERS = (STATE, XTC, DCD, ALONE, CONSUMED)

_STEP_PS = 0.002
_JOIN_SECONDS = 60.0


def water(n_molecules: int) -> Any:
    """Return a simulation of a box of water. Forces in real space are computed by one thread."""
    try:
        import openmm
        from openmm import app, unit
    except ImportError as error:
        raise ProcessError("this case needs openmm: pip install openmm") from error

    field = app.ForceField("tip3p.xml")
    model = app.Modeller(app.Topology(), [] * unit.nanometer)
    model.addSolvent(field, numAdded=n_molecules)
    edge = min(model.topology.getUnitCellDimensions().value_in_unit(unit.nanometer))
    cutoff = min(0.9, 0.45 * edge) * unit.nanometer
    system = field.createSystem(model.topology, nonbondedMethod=app.PME, nonbondedCutoff=cutoff)
    integrator = openmm.LangevinMiddleIntegrator(300 * unit.kelvin, 1 / unit.picosecond, _STEP_PS * unit.picosecond)
    integrator.setRandomNumberSeed(1)
    platform = openmm.Platform.getPlatformByName("CPU")
    simulation = app.Simulation(model.topology, system, integrator, platform, {"Threads": "1"})
    simulation.context.setPositions(model.positions)
    simulation.minimizeEnergy(maxIterations=50)
    simulation.context.setVelocitiesToTemperature(300, 1)
    return simulation


class StateReporter:
    """Reporter that asks for the positions and does nothing with them: the least that a reporter costs."""

    def describeNextReport(self, simulation: Any) -> dict[str, Any]:  # noqa: N802 - the name is OpenMM's
        """Return when the next state is due, and that it needs positions."""
        return {"steps": INTERVAL - simulation.currentStep % INTERVAL, "periodic": None, "include": ["positions"]}

    def report(self, simulation: Any, state: Any) -> None:
        """Do nothing."""


class OpenReporters(ExitStack):
    """All reporters of a simulation with their files, channels and consumer, which exist until ``with`` ends.

    Attributes
    ----------
    by_name : dict
        Reporter of each name in `REPORTERS`.
    producers : dict
        Producer of each reporter that publishes on a channel.
    """

    def __init__(self, simulation: Any) -> None:
        super().__init__()
        self._simulation = simulation
        self.by_name: dict[str, Any] = {}
        self.producers: dict[str, Any] = {}
        self._consumer: tuple[Any, Connection] | None = None

    def __enter__(self) -> Self:
        from openmm import app

        with ExitStack() as opened:
            files = Path(opened.enter_context(tempfile.TemporaryDirectory()))
            channels = Path(opened.enter_context(tempfile.TemporaryDirectory(dir=MEMORY)))
            self.by_name = {
                STATE: StateReporter(),
                XTC: app.XTCReporter(str(files / "run.xtc"), INTERVAL),
                DCD: app.DCDReporter(str(files / "run.dcd"), INTERVAL),
                ALONE: self._channel(opened, channels / "alone", ALONE),
                CONSUMED: self._channel(opened, channels / "consumed", CONSUMED),
            }
            self._consumer = self._start_consumer(opened, channels / "consumed")
            opened.callback(self._close_reporters)
            self.push(opened.pop_all())
        return self

    def check(self, n_frames: int) -> None:
        """End the channels, and check that both have all frames and that the consumer has received them.

        Parameters
        ----------
        n_frames : int
            Number of frames that each reporter should have published.

        Raises
        ------
        ProcessError
            If frames are missing, or if the consumer has failed.
        """
        from mdreel.live import channel

        assert self._consumer is not None
        process, received = self._consumer
        counts = {}
        for name, producer in self.producers.items():
            producer.end()
            counts[name] = channel(producer.path).status().n_published
        if not received.poll(_JOIN_SECONDS):
            raise ProcessError("the consumer has not received the end of its channel")
        counts["consumer"] = received.recv()
        process.join()
        if set(counts.values()) != {n_frames}:
            raise ProcessError(f"expected {n_frames} frames, got {counts}")

    def _channel(self, opened: ExitStack, path: Path, name: str) -> Any:
        from mdreel.live import OpenMMReporter, Producer

        n_atoms = self._simulation.system.getNumParticles()
        producer = opened.enter_context(Producer(path, n_atoms, time_step=_STEP_PS, stride=INTERVAL))
        self.producers[name] = producer
        return OpenMMReporter(producer, INTERVAL)

    def _start_consumer(self, opened: ExitStack, path: Path) -> tuple[Any, Connection]:
        context = multiprocessing.get_context("spawn")
        near, far = context.Pipe(duplex=False)
        opened.callback(near.close)
        process = context.Process(target=_consume, args=(path, far), daemon=True)
        process.start()
        far.close()
        opened.callback(process.kill)
        self.producers[CONSUMED].await_consumers(1, timeout=_JOIN_SECONDS)
        return process, near

    def _close_reporters(self) -> None:
        """Drop the reporters, which closes the files of OpenMM's."""
        self._simulation.reporters.clear()
        self.by_name.clear()


def _consume(path: Path, received: Connection) -> None:
    """Read all frames of a channel, and send their number at its end."""
    from mdreel.live import Consumer

    n_frames = 0
    with Consumer(path) as consumer:
        for frame in consumer:
            assert frame.positions is not None
            frame.positions.sum()
            n_frames += 1
    received.send(n_frames)
