"""LAMMPS as a producer."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.live.engines.engine_commands import Obeying
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
"""Energies by the names that they have here, and what LAMMPS calls them: https://docs.lammps.org/thermo_style.html."""

_COMPUTE = "mdreel_positions"
_TRICKY = '"$*%#&'


class LAMMPSReporter:
    """Publishes a LAMMPS simulation on a channel, and does what it is asked: LAMMPS as its Python module has it.

    It runs LAMMPS from frame to frame. Behind each it looks at requests: ``stop`` writes a restart file, ends the
    channel as *stopped*, and `run` returns; ``checkpoint`` writes one whose name has the step; ``change-stride``
    changes the steps between two frames.

    Parameters
    ----------
    producer : Producer
        The channel. Velocities, forces and energies are published if it was opened for them: energies of the names
        ``potential``, ``kinetic``, ``total``, ``van_der_waals``, ``coulomb``, ``bonds``, ``angles``, ``dihedrals``,
        ``impropers``, as LAMMPS's thermodynamic output has them, and ``temperature`` (K).
    lmp : lammps.lammps
        LAMMPS, with a system of ``units real`` or ``units metal`` whose atoms are numbered from 1 on without a gap.
    interval : int
        Steps between two frames.
    checkpoint : path
        The restart file, where the state is kept at a stop, and now and then. It appears whole, in place of the one
        before.
    checkpoint_frames : int, optional
        After how many frames it is kept; by default at a stop only.
    wrap : bool
        Whether positions are those in the cell, as ``x`` of a dump; by default atoms go on across its faces, as ``xu``.

    Raises
    ------
    MismatchError
        If an argument makes no sense, or the channel is of another number of atoms.
    UnsupportedError
        If LAMMPS has other units, no number for each atom, or runs on several ranks: then a hub takes its frames.

    Notes
    -----
    Atoms come in the order of their numbers. Frames are those of the steps that `interval` divides, behind the first
    step, and have the positions, velocities and forces that a dump has at this step, to the bit. LAMMPS's log has two
    lines for each frame. Behind a restart file neighbours are looked for anew.

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
        checkpoint: str | PathLike[str],
        *,
        checkpoint_frames: int | None = None,
        wrap: bool = False,
    ) -> None:
        self._obeying = Obeying(producer, "LAMMPS", interval, checkpoint, checkpoint_frames)
        _check(producer, lmp, Path(checkpoint).absolute())
        self._producer = producer
        self._lmp = lmp
        self._columns = "x y z" if wrap else "xu yu zu"
        self._dialect = DIALECTS[lmp.extract_global("units")]
        self._sections = [name for name, _ in producer.manifest.sections]
        self._is_set_up = False

    @property
    def interval(self) -> int:
        """Steps between two frames, now."""
        return self._obeying.interval

    @property
    def is_stopped(self) -> bool:
        """Whether the simulation was stopped on request."""
        return self._obeying.is_stopped

    def run(self, n_steps: int) -> bool:
        """Simulate.

        Parameters
        ----------
        n_steps : int
            How many steps, as of LAMMPS's ``run``: what changes over a run does so over all of them.

        Returns
        -------
        bool
            Whether all steps were done; False if it was stopped on request, or by a fix or time limit of its own.
        """
        if not self._lmp.has_id("compute", _COMPUTE):
            self._lmp.command(f"compute {_COMPUTE} all property/atom {self._columns}")
        self._is_set_up = False  # who has LAMMPS may have changed anything
        first = self._step
        last = first + int(n_steps)
        while self._step < last and not self.is_stopped:
            until = min(last, (self._step // self.interval + 1) * self.interval)
            pre = "no" if self._is_set_up else "yes"
            self._lmp.command(f"run {until - self._step} start {first} stop {last} pre {pre} post no")
            self._is_set_up = True
            if self._step < until:
                return False
            if until % self.interval == 0:
                self._publish()
                self._obeying.look(until, self._write)
        return not self.is_stopped

    @property
    def _step(self) -> int:
        return int(self._lmp.extract_global("ntimestep"))

    def _publish(self) -> None:
        per_ps, energy = 1.0 / self._dialect.time, self._dialect.energy
        energies = {
            name: self._lmp.get_thermo(_KEYWORDS[name]) * (1.0 if name == _TEMPERATURE else energy)
            for name in self._producer.manifest.energies
        }
        self._producer.publish(
            self._of_atoms(f"c_{_COMPUTE}"),
            self._step,
            self._lmp.get_thermo("time") * self._dialect.time,
            self._box(),
            self._of_atoms("v") * per_ps if "velocities" in self._sections else None,
            self._of_atoms("f") * energy if "forces" in self._sections else None,
            energies or None,
        )

    def _of_atoms(self, name: str) -> NDArray[np.float64]:
        """Return three numbers an atom, in the order of their numbers."""
        return np.ctypeslib.as_array(self._lmp.gather(name, 1, 3)).reshape(-1, 3)

    def _box(self) -> NDArray[np.float64] | None:
        """Return the row vectors of the cell, Å; None where nothing is periodic."""
        low, high, xy, yz, xz, periodic, _ = self._lmp.extract_box()
        if not any(periodic):
            return None
        x, y, z = np.subtract(high, low)
        return np.array([[x, 0, 0], [xy, y, 0], [xz, yz, z]])

    def _write(self, path: Path) -> None:
        """Write a restart file."""
        path.touch()  # what keeps it from being written is told by the system, and not found in the midst of LAMMPS
        self._is_set_up = False
        try:
            self._lmp.command(f'write_restart "{path}"')
        except Exception as error:  # LAMMPS's module raises nothing narrower
            raise OSError(f"{path}: {error}") from error


def _check(producer: Producer, lmp: Any, checkpoint: Path) -> None:
    """Refuse what cannot be published, or kept."""
    where = producer.path
    n_ranks, units = lmp.extract_setting("world_size"), lmp.extract_global("units")
    if n_ranks > 1:
        message = f"LAMMPS runs on {n_ranks} ranks: its frames come by `fix imd` and a hub"
        raise UnsupportedError(f"{where}: {message}")
    if units not in _UNITS:
        raise UnsupportedError(f"{where}: LAMMPS's units must be {' or '.join(_UNITS)}, not {units}")
    n_atoms = lmp.get_natoms()
    if n_atoms != producer.manifest.n_atoms:
        message = f"the channel is of {producer.manifest.n_atoms:,} atoms, LAMMPS has {n_atoms:,}"
        raise MismatchError(f"{where}: {message}")
    if not np.array_equal(np.sort(lmp.numpy.extract_atom("id")), np.arange(1, n_atoms + 1)):
        message = f"the atoms of LAMMPS are not numbered from 1 to {n_atoms:,}, by which they would be put in order"
        raise UnsupportedError(f"{where}: {message}")
    unknown = [name for name in producer.manifest.energies if name not in _KEYWORDS]
    if unknown:
        message = f"energies of LAMMPS are {', '.join(_KEYWORDS)}, not {', '.join(unknown)}"
        raise MismatchError(f"{where}: {message}")
    tricky = sorted(set(str(checkpoint)).intersection(_TRICKY))
    if tricky:
        message = f"LAMMPS does not take {' '.join(tricky)} in a path for what it says"
        raise MismatchError(f"{checkpoint}: {message}")
