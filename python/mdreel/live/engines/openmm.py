"""OpenMM reporter that publishes frames on a channel."""

import os
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from mdreel.errors import MismatchError
from mdreel.live.engines.engine_commands import Obeying
from mdreel.live.producers.producer import Producer

_ENERGIES = ("potential", "kinetic")


class StopRequested(Exception):  # noqa: N818 (nothing went wrong)
    """Ends ``simulation.step`` where the simulation was asked to stop; its checkpoint has been written."""


class OpenMMReporter:
    """Publishes an OpenMM simulation on a channel, and does what it is asked: appended to ``simulation.reporters``.

    Behind each frame it looks at requests: ``stop`` writes a checkpoint, ends the channel as *stopped*, and leaves
    ``simulation.step`` by `StopRequested`, which `run` catches; ``checkpoint`` writes one whose name has the step;
    ``change-stride`` changes the steps between two frames.

    Parameters
    ----------
    producer : Producer
        The channel. Velocities, forces, and energies of the names ``potential`` and ``kinetic`` are published if it was
        opened for them.
    interval : int
        Steps between two frames.
    checkpoint : path
        Where the state is kept at a stop, and now and then. It appears whole, in place of the one before.
    checkpoint_frames : int, optional
        After how many frames it is kept; by default at a stop only.
    wrap : bool, optional
        Whether molecules are moved into the cell; by default as OpenMM does where the system is periodic.

    Raises
    ------
    MismatchError
        If an argument makes no sense.

    Notes
    -----
    A checkpoint comes behind its frame, so that a simulation that goes on from it leaves none out. OpenMM's checkpoints
    are for the same system, platform and version.

    Examples
    --------
    >>> import mdreel
    >>> with mdreel.live.Producer("run1", n_atoms, time_step=0.002) as producer:  # doctest: +SKIP
    ...     reporter = mdreel.live.OpenMMReporter(producer, 500, "run1.checkpoint")
    ...     simulation.reporters.append(reporter)
    ...     was_finished = reporter.run(simulation, 1_000_000)
    """

    def __init__(
        self,
        producer: Producer,
        interval: int,
        checkpoint: str | PathLike[str],
        *,
        checkpoint_frames: int | None = None,
        wrap: bool | None = None,
    ) -> None:
        self._obeying = Obeying(producer, "OpenMM", interval, checkpoint, checkpoint_frames)
        unknown = [name for name in producer.manifest.energies if name not in _ENERGIES]
        if unknown:
            message = f"energies of OpenMM are {' and '.join(_ENERGIES)}, not {', '.join(unknown)}"
            raise MismatchError(f"{producer.path}: {message}")
        self._producer = producer
        self._wrap = wrap
        sections = [name for name, _ in producer.manifest.sections]
        self._has_velocities, self._has_forces = "velocities" in sections, "forces" in sections

    def describeNextReport(self, simulation: Any) -> tuple[int, bool, bool, bool, bool, bool | None]:  # noqa: N802
        """Say when the next frame is due, and what of it is wanted; the name is OpenMM's."""
        n_steps = self.interval - simulation.currentStep % self.interval
        has_energies = bool(self._producer.manifest.energies)
        return n_steps, True, self._has_velocities, self._has_forces, has_energies, self._wrap

    def report(self, simulation: Any, state: Any) -> None:
        """Publish a frame, and do what was asked since the one before.

        Raises
        ------
        StopRequested
            If the simulation was asked to stop.
        """
        from openmm import unit

        def numbers(values: Any, of: Any) -> Any:
            return np.asarray(values.value_in_unit(of))

        per_ps = unit.angstrom / unit.picosecond
        per_angstrom = unit.kilojoule_per_mole / unit.angstrom
        is_periodic = simulation.system.usesPeriodicBoundaryConditions()
        of_state = {"potential": state.getPotentialEnergy, "kinetic": state.getKineticEnergy}
        self._producer.publish(
            numbers(state.getPositions(asNumpy=True), unit.angstrom),
            simulation.currentStep,
            state.getTime().value_in_unit(unit.picosecond),
            numbers(state.getPeriodicBoxVectors(asNumpy=True), unit.angstrom) if is_periodic else None,
            numbers(state.getVelocities(asNumpy=True), per_ps) if self._has_velocities else None,
            numbers(state.getForces(asNumpy=True), per_angstrom) if self._has_forces else None,
            {name: of_state[name]().value_in_unit(unit.kilojoule_per_mole) for name in self._producer.manifest.energies}
            or None,
        )
        if self._obeying.look(simulation.currentStep, partial(_write, simulation)):
            raise StopRequested(f"the simulation was asked to stop at step {simulation.currentStep}")

    def run(self, simulation: Any, n_steps: int) -> bool:
        """Simulate; return whether all steps were done, and the simulation was not stopped on request."""
        try:
            simulation.step(n_steps)
        except StopRequested:
            return False
        return True

    @property
    def interval(self) -> int:
        """Steps between two frames, now."""
        return self._obeying.interval

    @property
    def is_stopped(self) -> bool:
        """Whether the simulation was stopped on request."""
        return self._obeying.is_stopped


def _write(simulation: Any, path: Path) -> None:
    """Write a checkpoint."""
    from openmm import OpenMMException

    try:
        simulation.saveCheckpoint(str(path))
    except OpenMMException as error:
        raise OSError(f"{path}: {error}") from error


def fork_openmm(simulation: Any, checkpoint: str | PathLike[str], temperature: float, seed: int | None = None) -> None:
    """Let an OpenMM simulation begin at a checkpoint of another one, with new velocities.

    Parameters
    ----------
    simulation : openmm.app.Simulation
        A simulation of the same system, on the same platform.
    checkpoint : path
        The checkpoint. Positions, cell, step and time are taken from it.
    temperature : float
        Of the velocities, K.
    seed : int, optional
        Of the velocities; by default another one each time.

    Examples
    --------
    >>> import mdreel
    >>> mdreel.live.fork_openmm(simulation, "run1.checkpoint", 300.0, seed=7)  # doctest: +SKIP
    """
    from openmm import unit

    simulation.loadCheckpoint(os.fspath(checkpoint))
    arguments = () if seed is None else (int(seed),)
    simulation.context.setVelocitiesToTemperature(temperature * unit.kelvin, *arguments)
