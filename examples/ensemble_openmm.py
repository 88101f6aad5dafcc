"""Ensemble of OpenMM simulations, some of which are killed and continue from their checkpoints.

``python examples/ensemble_openmm.py`` copies itself and ``ensemble.toml`` to a temporary folder, writes the topology,
runs ``mdreel ensemble run`` there, kills some replicas, and prints the results. ``--simulate CHANNEL`` runs a single
replica. The example requires openmm.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

N_BEADS = 20
STEP_PS = 0.004
INTERVAL = 10
N_FRAMES = 300
FRAMES_PER_CHECKPOINT = 20


def make_simulation(seed: int) -> Any:
    """Create a chain of beads whose ends attract each other, with random velocities."""
    import openmm
    from openmm import app, unit

    system, topology = openmm.System(), app.Topology()
    chain, bonds = topology.addChain(), openmm.HarmonicBondForce()
    for bead in range(N_BEADS):
        topology.addAtom("CA", app.element.carbon, topology.addResidue("GLY", chain))
        system.addParticle(50.0)
        if bead:
            bonds.addBond(bead - 1, bead, 0.38, 10_000.0)
    bonds.addBond(0, N_BEADS - 1, 0.5, 5.0)
    system.addForce(bonds)
    integrator = openmm.LangevinMiddleIntegrator(300 * unit.kelvin, 2 / unit.picosecond, STEP_PS * unit.picosecond)
    integrator.setRandomNumberSeed(seed)
    simulation = app.Simulation(topology, system, integrator, openmm.Platform.getPlatformByName("Reference"))
    simulation.context.setPositions([openmm.Vec3(0.37 * bead, 0.08 * (bead % 2), 0) for bead in range(N_BEADS)])
    simulation.context.setVelocitiesToTemperature(300 * unit.kelvin, seed)
    return simulation


def simulate(options: argparse.Namespace) -> None:
    """Run a replica in its directory, from a checkpoint if one exists."""
    import mdreel

    simulation = make_simulation(options.seed)
    if options.restart:
        simulation.loadCheckpoint(str(options.restart))
    with mdreel.live.Producer(
        options.simulate,
        N_BEADS,
        time_step=STEP_PS,
        stride=INTERVAL,
        staging=mdreel.live.Staging(options.staging) if options.staging else None,
        archive=options.archive,
        resume_step=simulation.currentStep + INTERVAL if options.restart else None,
    ) as producer:
        producer.await_consumers(1)  # the analyses receive the first frame
        reporter = mdreel.live.OpenMMReporter(
            producer, INTERVAL, "state.checkpoint", checkpoint_frames=FRAMES_PER_CHECKPOINT
        )
        simulation.reporters.append(reporter)
        reporter.run(simulation, INTERVAL * options.frames - simulation.currentStep)


def write_topology(path: Path) -> None:
    """Write the chain as a structure."""
    import MDAnalysis as mda
    import numpy as np

    warnings.simplefilter("ignore")  # the structure lacks optional attributes
    universe = mda.Universe.empty(N_BEADS, N_BEADS, atom_resindex=np.arange(N_BEADS), trajectory=True)
    universe.add_TopologyAttr("names", ["CA"] * N_BEADS)
    universe.add_TopologyAttr("resnames", ["GLY"] * N_BEADS)
    universe.atoms.write(str(path))


def run(folder: Path, n_killed: int, seed: int) -> int:
    """Run the ensemble of a folder, kill random replicas, and return the exit code."""
    own = Path(__file__).resolve().parent
    for name in ("ensemble.toml", Path(__file__).name):
        shutil.copy(own / name, folder)
    write_topology(folder / "beads.pdb")
    mdreel = [sys.executable, "-m", "mdreel.cli", "ensemble"]
    found = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    dice = random.Random(seed)  # noqa: S311 (nobody has to be surprised)
    with subprocess.Popen([*mdreel, "run", "ensemble.toml"], cwd=folder, env=found) as manager:
        killed: set[str] = set()
        while manager.poll() is None:
            status = subprocess.run([*mdreel, "status", "ensemble.toml", "--json"], cwd=folder, capture_output=True)
            replicas = json.loads(status.stdout) if status.returncode == 0 else []
            alive = [one for one in replicas if one["process"] and one["n_frames"] and one["replica"] not in killed]
            if alive and len(killed) < n_killed:
                victim = dice.choice(alive)
                with suppress(ProcessLookupError):  # it has already finished
                    os.kill(victim["process"], signal.SIGKILL)
                    killed.add(victim["replica"])
                    print(f"{victim['replica']} is killed after {victim['n_frames']} frames", flush=True)
            sleep(0.2)
    print((folder / "beads" / "results" / "replicas.csv").read_text())
    return int(manager.returncode)


def main() -> None:
    """Run the ensemble, or one replica."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kill", type=int, default=2, help="replicas to kill")
    parser.add_argument("--dice", type=int, default=1, help="seed of the choice")
    parser.add_argument("--simulate", metavar="CHANNEL", help="one replica alone")
    parser.add_argument("--seed", type=int, default=1, help="of its velocities")
    parser.add_argument("--frames", type=int, default=N_FRAMES, help="frames to simulate")
    parser.add_argument("--staging", type=Path, help="where its frames are kept")
    parser.add_argument("--archive", type=Path, help="a trajectory of its own")
    parser.add_argument("--restart", type=Path, metavar="CHECKPOINT", help="where to go on")
    options = parser.parse_args()
    if options.simulate:
        simulate(options)
        return
    with tempfile.TemporaryDirectory() as name:
        sys.exit(run(Path(name), options.kill, options.dice))


if __name__ == "__main__":
    main()
