"""Reporter that publishes the frames of a LAMMPS simulation."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError, StreamTimeoutError, UnsupportedError
from mdreel.live.engines.engine_commands import EngineCommands, EngineReporter
from mdreel.live.engines.imd.dialects import DIALECTS
from mdreel.live.producers.producer import Producer

_UNITS = ("metal", "real")
_TEMPERATURE = "temperature"
_KEYWORDS = {
    "potential": "pe",
    "kinetic": "ke",
    "total": "etotal",
    _TEMPERATURE: "temp",
    "van_der_waals": "evdwl",
    "coulomb": "ecoul",
    "bonds": "ebond",
    "angles": "eangle",
    "dihedrals": "edihed",
    "impropers": "eimp",
}
"""LAMMPS keyword for each energy (https://docs.lammps.org/thermo_style.html)."""

_COMPUTE = "mdreel_positions"
_TRICKY = '"$*%#&'
_LAST_FRAME_SECONDS = 5.0
"""Time limit for publishing the last frame, in s. Batch systems kill a job about 30 s after SIGTERM."""


class LAMMPSReporter(EngineReporter):
    """Reporter that publishes the frames of a LAMMPS simulation on a channel, and carries out requests.

    To use this reporter, run your simulation from LAMMPS's Python module. LAMMPS will then run from frame to frame, and
    the reporter checks for requests after each of them. On ``stop``, it writes a restart file, ends the channel as
    *stopped*, and `run` returns. On ``checkpoint``, it writes a restart file with the step in its name. On
    ``change-stride``, it changes the number of steps between two frames. On ``pause``, it waits until it receives
    ``resume`` or ``stop``.

    Parameters
    ----------
    producer : Producer
        The channel. If you want to publish velocities, forces and energies, you need to create the producer with these
        quantities. The energies ``potential``, ``kinetic``, ``total``, ``van_der_waals``, ``coulomb``, ``bonds``,
        ``angles``, ``dihedrals`` and ``impropers`` are taken from LAMMPS's thermodynamic output. The ``temperature`` is
        in K.
    lmp : lammps.lammps
        LAMMPS instance. You need to use ``units real`` or ``units metal``, and consecutive atom IDs that start at 1.
    interval : int
        Number of steps between two frames.
    checkpoint : path, optional
        Restart file, which is written when the simulation stops, on SIGTERM and Ctrl-C, and optionally at intervals.
        The previous file is always replaced atomically. You will need this file to continue your simulation after a
        stop.
    checkpoint_frames : int, optional
        Number of frames between two restart files. By default, you will only get a restart file when the simulation
        stops.
    wrap : bool
        Whether to wrap positions into the cell, like ``x`` in a dump. By default, positions are unwrapped, like ``xu``.

    Raises
    ------
    MismatchError
        When an argument is invalid, or the channel has a different number of atoms.
    UnsupportedError
        When LAMMPS uses other units, has no atom IDs, or runs on several ranks. In the latter case, you can use
        `fix imd` and a hub instead.

    Notes
    -----
    Atoms are sorted by ID. After the first step, a frame is published whenever the step is a multiple of `interval`.
    Positions, velocities and forces are bitwise identical to those in a dump at this step. Note that you will see two
    lines per frame in the log file of LAMMPS, and that LAMMPS rebuilds its neighbor lists whenever a restart file has
    been written.

    Examples
    --------
    >>> import mdreel
    >>> with mdreel.live.Producer("run1", lmp.get_natoms()) as producer:  # doctest: +SKIP
    ...     reporter = mdreel.live.LAMMPSReporter(producer, lmp, 500, "run1.restart")
    ...     was_finished = reporter.run(1_000_000)
    """

    def __init__(
        self,
        producer: Producer,
        lmp: Any,
        interval: int,
        checkpoint: str | PathLike[str] | None = None,
        *,
        checkpoint_frames: int | None = None,
        wrap: bool = False,
    ) -> None:
        self._commands = EngineCommands(producer, "LAMMPS", interval, checkpoint, checkpoint_frames)
        _check(producer, lmp, None if checkpoint is None else Path(checkpoint).absolute())
        self._producer = producer
        self._lmp = lmp
        self._columns = "x y z" if wrap else "xu yu zu"
        self._dialect = DIALECTS[lmp.extract_global("units")]
        self._sections = [name for name, _ in producer.manifest.sections]
        self._is_set_up = False

    def run(self, n_steps: int) -> bool:
        """Run the simulation.

        Parameters
        ----------
        n_steps : int
            Number of steps, as in the ``run`` command of LAMMPS. Quantities that LAMMPS ramps over a run will be ramped
            over all of these steps.

        Returns
        -------
        bool
            Whether all steps were run. False if the simulation was stopped by a request, or by a fix or a time limit of
            LAMMPS.
        """
        if not self._lmp.has_id("compute", _COMPUTE):
            self._lmp.command(f"compute {_COMPUTE} all property/atom {self._columns}")
        self._is_set_up = False  # the caller may have changed anything in LAMMPS
        first = self._step
        try:
            return self._run(first, first + int(n_steps))
        except (KeyboardInterrupt, SystemExit):
            self._end(first)
            raise

    def _run(self, first: int, last: int) -> bool:
        while self._step < last and not self.is_stopped:
            until = min(last, (self._step // self.interval + 1) * self.interval)
            pre = "no" if self._is_set_up else "yes"
            self._lmp.command(f"run {until - self._step} start {first} stop {last} pre {pre} post no")
            self._is_set_up = True
            if self._step < until:
                return False
            if until % self.interval == 0:
                self._publish()
                self._commands.handle_requests(until, self._write)
        return not self.is_stopped

    def _end(self, first: int) -> None:
        """Publish the last frame and write a restart file before SIGTERM or Ctrl-C ends the program."""
        # Python handles a signal when LAMMPS returns, before the frame of this step is published.
        if self._commands.is_frame_missing(self._step, first):
            try:
                self._publish(_LAST_FRAME_SECONDS)
            except StreamTimeoutError:
                return  # a simulation that continued from this step would omit its frame
            except MismatchError:
                pass  # the signal came after the frame had been published
        self._commands.checkpoint_at_end(self._step, self._write)

    @property
    def _step(self) -> int:
        return int(self._lmp.extract_global("ntimestep"))

    def _publish(self, timeout: float | None = None) -> None:
        per_ps, energy = 1.0 / self._dialect.time, self._dialect.energy
        energies = {
            name: self._lmp.get_thermo(_KEYWORDS[name]) * (1.0 if name == _TEMPERATURE else energy)
            for name in self._producer.manifest.energies
        }
        self._producer.publish(
            self._gather(f"c_{_COMPUTE}"),
            self._step,
            self._lmp.get_thermo("time") * self._dialect.time,
            self._box(),
            self._gather("v") * per_ps if "velocities" in self._sections else None,
            self._gather("f") * energy if "forces" in self._sections else None,
            energies or None,
            timeout=timeout,
        )

    def _gather(self, name: str) -> NDArray[np.float64]:
        """Return three numbers per atom, sorted by atom ID."""
        return np.ctypeslib.as_array(self._lmp.gather(name, 1, 3)).reshape(-1, 3)

    def _box(self) -> NDArray[np.float64] | None:
        """Return the row vectors of the cell, in Å, or None if no dimension is periodic."""
        low, high, xy, yz, xz, periodic, _ = self._lmp.extract_box()
        if not any(periodic):
            return None
        x, y, z = np.subtract(high, low)
        return np.array([[x, 0, 0], [xy, y, 0], [xz, yz, z]])

    def _write(self, path: Path) -> None:
        """Write a restart file."""
        path.touch()  # raises a precise OSError if the file cannot be written, before LAMMPS aborts
        self._is_set_up = False
        try:
            self._lmp.command(f'write_restart "{path}"')
        except Exception as error:  # LAMMPS's module raises no narrower class
            raise OSError(f"{path}: {error}") from error


def _check(producer: Producer, lmp: Any, checkpoint: Path | None) -> None:
    """Check that LAMMPS, the channel and the path of the checkpoint are compatible."""
    where = producer.path
    n_ranks, units = lmp.extract_setting("world_size"), lmp.extract_global("units")
    if n_ranks > 1:
        message = f"LAMMPS runs on {n_ranks} ranks; publish its frames through `fix imd` and a hub"
        raise UnsupportedError(f"{where}: {message}")
    if units not in _UNITS:
        raise UnsupportedError(f"{where}: LAMMPS's units must be {' or '.join(_UNITS)}, not {units}")
    n_atoms = lmp.get_natoms()
    if n_atoms != producer.manifest.n_atoms:
        message = f"the channel has {producer.manifest.n_atoms:,} atoms, LAMMPS has {n_atoms:,}"
        raise MismatchError(f"{where}: {message}")
    if not np.array_equal(np.sort(lmp.numpy.extract_atom("id")), np.arange(1, n_atoms + 1)):
        message = f"LAMMPS's atom IDs are not 1 to {n_atoms:,}, so the atoms cannot be sorted"
        raise UnsupportedError(f"{where}: {message}")
    unknown = [name for name in producer.manifest.energies if name not in _KEYWORDS]
    if unknown:
        message = f"LAMMPS has the energies {', '.join(_KEYWORDS)}, not {', '.join(unknown)}"
        raise MismatchError(f"{where}: {message}")
    tricky = sorted(set(str(checkpoint or "")).intersection(_TRICKY))
    if tricky:
        message = f"LAMMPS interprets {' '.join(tricky)} in a path; choose a path without"
        raise MismatchError(message, path=checkpoint)
