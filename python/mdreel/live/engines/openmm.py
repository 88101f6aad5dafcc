"""Reporter that publishes the frames of an OpenMM simulation."""

import os
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError
from mdreel.live.engines.engine_commands import EngineCommands, EngineReporter
from mdreel.live.producers.producer import Producer

_ENERGIES = ("potential", "kinetic")

_TO_ANGSTROM, _PER_ANGSTROM = 10.0, 0.1
"""Factors from the units of OpenMM's states, which are nm, nm/ps and kJ/(mol nm). Times are in ps, energies in kJ/mol.
The reporter does not let OpenMM convert units, because after the steps of a simulation this code is not in the caches
any more, and takes longer than publishing the frame."""


class StopRequested(Exception):  # noqa: N818 (it is no error)
    """Raised in ``simulation.step`` after a stop request, when the checkpoint has been written.

    Examples
    --------
    >>> import mdreel
    >>> try:  # doctest: +SKIP
    ...     simulation.step(1_000_000)
    ... except mdreel.live.StopRequested:
    ...     print("stopped; continue from the checkpoint")
    """


class OpenMMReporter(EngineReporter):
    """Reporter that publishes the frames of an OpenMM simulation on a channel, and carries out requests.

    To use this reporter, append it to ``simulation.reporters``. The reporter then checks for requests after each frame.
    On ``stop``, it writes a checkpoint, ends the channel as *stopped*, and raises `StopRequested` in
    ``simulation.step``. This exception is caught by `run`. On ``checkpoint``, the reporter writes a checkpoint with the
    step in its name. On ``change-stride``, it changes the number of steps between two frames. On ``pause``, it waits
    until it receives ``resume`` or ``stop``. On SIGTERM and Ctrl-C, `run` writes a checkpoint before the program ends.

    Parameters
    ----------
    producer : Producer
        The channel. If you want to publish velocities, forces, and the energies ``potential`` and ``kinetic``, you need
        to create the producer with these quantities.
    interval : int
        Number of steps between two frames.
    checkpoint : path, optional
        Checkpoint file, which is written when the simulation stops, and optionally at intervals. The previous
        checkpoint is always replaced atomically. You will need this file to continue your simulation after a stop.
    checkpoint_frames : int, optional
        Number of frames between two checkpoints. By default, you will only get a checkpoint when the simulation stops.
    wrap : bool, optional
        Whether to wrap molecules into the cell. By default, OpenMM wraps them if the system is periodic.

    Raises
    ------
    MismatchError
        If an argument is invalid.

    Notes
    -----
    A checkpoint is always written after its frame has been published. Therefore, no frames are lost if you continue the
    simulation from a checkpoint. Note that you can only use an OpenMM checkpoint for the same system, platform and
    version.

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
        checkpoint: str | PathLike[str] | None = None,
        *,
        checkpoint_frames: int | None = None,
        wrap: bool | None = None,
    ) -> None:
        self._commands = EngineCommands(producer, "OpenMM", interval, checkpoint, checkpoint_frames)
        unknown = [name for name in producer.manifest.energies if name not in _ENERGIES]
        if unknown:
            message = f"OpenMM has the energies {' and '.join(_ENERGIES)}, not {', '.join(unknown)}"
            raise MismatchError(message, path=producer.path)
        self._producer = producer
        self._wrap = wrap
        sections = dict(producer.manifest.sections)
        self._has_velocities, self._has_forces = "velocities" in sections, "forces" in sections
        self._dtypes = {name: "f8" if dtype.endswith("float64") else "f4" for name, dtype in sections.items()}
        self._arrays: dict[str, NDArray[Any]] = {}
        self._box_vectors: Any = None
        self._box: NDArray[np.float64] | None = None

    def describeNextReport(self, simulation: Any) -> tuple[int, bool, bool, bool, bool, bool | None]:  # noqa: N802
        """Return when the next frame is due, and which quantities are needed. The method name is defined by OpenMM."""
        n_steps = self.interval - simulation.currentStep % self.interval
        has_energies = bool(self._producer.manifest.energies)
        return n_steps, True, self._has_velocities, self._has_forces, has_energies, self._wrap

    def report(self, simulation: Any, state: Any) -> None:
        """Publish a frame and carry out the requests received since the previous frame.

        Raises
        ------
        StopRequested
            If the simulation was asked to stop.
        """
        step = simulation.currentStep
        energies = {"potential": state.getPotentialEnergy, "kinetic": state.getKineticEnergy}
        self._producer.publish(
            self._converted("positions", state.getPositions(asNumpy=True), _TO_ANGSTROM),
            step,
            _value_of(state.getTime()),
            self._cell(state) if simulation.system.usesPeriodicBoundaryConditions() else None,
            self._converted("velocities", state.getVelocities(asNumpy=True), _TO_ANGSTROM)
            if self._has_velocities
            else None,
            self._converted("forces", state.getForces(asNumpy=True), _PER_ANGSTROM) if self._has_forces else None,
            {name: _value_of(energies[name]()) for name in self._producer.manifest.energies} or None,
        )
        if self._commands.handle_requests(step, partial(_write, simulation)):
            raise StopRequested(f"the simulation was asked to stop at step {step}")

    def run(self, simulation: Any, n_steps: int) -> bool:
        """Run the simulation.

        Parameters
        ----------
        simulation : openmm.app.Simulation
            The simulation, whose ``reporters`` must include this reporter.
        n_steps : int
            Number of steps.

        Returns
        -------
        bool
            Whether all steps were run. False if the simulation was stopped by a request.
        """
        first = simulation.currentStep
        try:
            simulation.step(n_steps)
        except StopRequested:
            return False
        except (KeyboardInterrupt, SystemExit):
            step = simulation.currentStep
            # A simulation that continued from this step would omit its frame, if it has not been published.
            if not self._commands.is_frame_missing(step, first):
                self._commands.checkpoint_at_end(step, partial(_write, simulation))
            raise
        return True

    def _converted(self, name: str, quantity: Any, factor: float) -> NDArray[Any]:
        """Multiply the numbers of a quantity, and convert them to the data type of the channel in the same pass.

        The result is valid until the next call, which is after the frame has been published.
        """
        values = _value_of(quantity)
        array = self._arrays.get(name)
        if array is None or array.shape != values.shape:
            array = self._arrays[name] = np.empty(values.shape, self._dtypes[name])
        np.multiply(values, factor, out=array, casting="same_kind")
        return array

    def _cell(self, state: Any) -> NDArray[np.float64]:
        """Return the vectors of the cell, in Å. They are converted again only if they have changed."""
        vectors = _value_of(state.getPeriodicBoxVectors())
        if self._box is None or vectors != self._box_vectors:
            self._box_vectors, self._box = vectors, np.array(vectors) * _TO_ANGSTROM
        return self._box


def _value_of(quantity: Any) -> Any:
    """Return the value of a quantity of OpenMM without a copy, which no public method does."""
    return quantity._value  # noqa: SLF001 - see above


def _write(simulation: Any, path: Path) -> None:
    """Write a checkpoint."""
    from openmm import OpenMMException

    try:
        simulation.saveCheckpoint(str(path))
    except OpenMMException as error:
        raise OSError(f"{path}: {error}") from error


def fork_openmm(simulation: Any, checkpoint: str | PathLike[str], temperature: float, seed: int | None = None) -> None:
    """Start an OpenMM simulation from a checkpoint of another simulation, with new velocities.

    Parameters
    ----------
    simulation : openmm.app.Simulation
        A simulation of the same system, on the same platform.
    checkpoint : path
        The checkpoint, from which the positions, unit cell, step and time are read.
    temperature : float
        Temperature of the new velocities, in K.
    seed : int, optional
        Random seed for the new velocities. By default, a different seed is used each time.

    Examples
    --------
    >>> import mdreel
    >>> mdreel.live.fork_openmm(simulation, "run1.checkpoint", 300.0, seed=7)  # doctest: +SKIP
    """
    from openmm import unit

    simulation.loadCheckpoint(os.fspath(checkpoint))
    arguments = () if seed is None else (int(seed),)
    simulation.context.setVelocitiesToTemperature(temperature * unit.kelvin, *arguments)
