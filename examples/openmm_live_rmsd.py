"""Live RMSD and helix eigenvalues of an OpenMM simulation in another process.

``python examples/openmm_live_rmsd.py`` starts both processes and prints live results. At the end it compares them with
the archived trajectory and with the one that OpenMM has written. You can kill and restart both processes
(``--simulate``, ``--analyse``): the simulation continues from its last checkpoint, the analysis starts from the first
frame in staging, and the results are the same. It requires openmm and h5py.
"""

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mdreel

N_ATOMS = 40
STEP_PS = 0.004
FRAMES_PER_CHECKPOINT = 20
OWN_FILE = "openmm.dcd"
"""Trajectory of OpenMM's own reporter, for comparison."""


def make_simulation() -> Any:
    """Create a chain of beads on springs in a viscous bath."""
    import openmm
    from openmm import app, unit

    system = openmm.System()
    topology = app.Topology()
    chain = topology.addChain()
    springs = openmm.HarmonicBondForce()
    for i in range(N_ATOMS):
        system.addParticle(12.0)
        topology.addAtom("CA", app.element.carbon, topology.addResidue("GLY", chain))
        if i:
            springs.addBond(i - 1, i, 0.38, 20_000.0)
    system.addForce(springs)
    integrator = openmm.LangevinMiddleIntegrator(300 * unit.kelvin, 1 / unit.picosecond, STEP_PS * unit.picosecond)
    integrator.setRandomNumberSeed(1)
    platform = openmm.Platform.getPlatformByName("Reference")
    simulation = app.Simulation(topology, system, integrator, platform)
    simulation.context.setPositions([openmm.Vec3(0.38 * i, 0.1 * (i % 2), 0.0) for i in range(N_ATOMS)])
    simulation.context.setVelocitiesToTemperature(300 * unit.kelvin, 1)
    return simulation


def simulate(folder: Path, n_frames: int, interval: int) -> None:
    """Run the simulation, from its checkpoint if one exists, and publish and archive its frames."""
    from openmm import app

    simulation = make_simulation()
    checkpoint = folder / "checkpoint"
    if checkpoint.exists():
        simulation.loadCheckpoint(str(checkpoint))
    else:
        simulation.reporters.append(app.DCDReporter(str(folder / OWN_FILE), interval))
    first = simulation.currentStep + interval
    print(f"the simulation publishes steps from {first} on", flush=True)
    with mdreel.live.Producer(
        folder / "channel",
        N_ATOMS,
        time_step=STEP_PS,
        stride=interval,
        staging=mdreel.live.Staging(folder / "staging"),
        archive=folder / "live.h5md",
        resume_step=first,
    ) as producer:
        reporter = mdreel.live.OpenMMReporter(producer, interval, checkpoint, checkpoint_frames=FRAMES_PER_CHECKPOINT)
        simulation.reporters.append(reporter)
        reporter.run(simulation, n_frames * interval - simulation.currentStep)


@contextmanager
def simulating(folder: Path, n_frames: int, interval: int) -> Iterator[None]:
    """Run the simulation in a separate process."""
    command = [sys.executable, __file__, "--simulate", str(folder)]
    with subprocess.Popen([*command, "--frames", str(n_frames), "--interval", str(interval)]) as process:
        yield
        if process.wait():
            sys.exit(f"the simulation ended with exit code {process.returncode}")


def make_analyses(trajectory: Any) -> tuple[mdreel.RMSD, mdreel.HelixEigenvalues]:
    """Create both analyses, which read each frame once."""
    import MDAnalysis as mda

    # Any topology of the system works, such as a PSF or PDB file; only selections need names.
    atoms = mda.Universe.empty(N_ATOMS).atoms
    segments = [atoms[: N_ATOMS // 2], atoms[N_ATOMS // 2 :]]
    return mdreel.RMSD(atoms, trajectory=trajectory), mdreel.HelixEigenvalues(segments, trajectory=trajectory)


def analyse(folder: Path) -> dict[str, NDArray[np.float64]]:
    """Print live RMSD and eigenvalues; return those of all frames."""
    rmsd, helices = make_analyses(mdreel.live.channel(folder / "channel", wait=60, restart=60))
    for _ in mdreel.live.stream_results([rmsd, helices], every=0.2):
        frame, time, value = rmsd.results.rmsd[-1]
        shapes = "  ".join(f"{value:7.2f} Å" for value in helices.results.eigenvalues[-1])
        print(f"{frame + 1:6.0f} frames  {time:8.3f} ps  RMSD {value:7.3f} Å  eigenvalues {shapes}", flush=True)
    return results_of(rmsd, helices)


def results_of(rmsd: mdreel.RMSD, helices: mdreel.HelixEigenvalues) -> dict[str, NDArray[np.float64]]:
    """Return the results: frame, time (ps) and RMSD (Å); eigenvalues (Å)."""
    return {"rmsd": np.asarray(rmsd.results.rmsd), "eigenvalues": np.asarray(helices.results.eigenvalues)}


def main() -> None:
    """Run the simulation and the analysis, and compare the results with the archive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=2000, help="frames to simulate")
    parser.add_argument("--interval", type=int, default=10, help="steps between two frames")
    parser.add_argument("--simulate", type=Path, metavar="FOLDER", help="the simulation alone, to be killed at will")
    parser.add_argument("--analyse", type=Path, metavar="FOLDER", help="the analyses alone, which write live.npz")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", module="MDAnalysis")  # the minimal topology has no attributes
    if options.simulate:
        simulate(options.simulate, options.frames, options.interval)
        return
    if options.analyse:
        live = analyse(options.analyse)
        np.savez(options.analyse / "live.npz", rmsd=live["rmsd"], eigenvalues=live["eigenvalues"])
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with simulating(folder, options.frames, options.interval):
            live = analyse(folder)
        written = {}
        for file in ("live.h5md", OWN_FILE):
            analyses = make_analyses(folder / file)
            mdreel.run(analyses)
            written[file] = results_of(*analyses)
    archived, own = written["live.h5md"], written[OWN_FILE]
    same = all(np.array_equal(live[name], archived[name]) for name in live)
    same &= np.array_equal(live["rmsd"][:, 2], own["rmsd"][:, 2])  # the times of the DCD file differ
    same &= np.array_equal(live["eigenvalues"], own["eigenvalues"])
    said = f"{'the same' if same else 'NOT the same'} as of the archive and of OpenMM's own file, to the bit"
    print(f"{len(live['rmsd'])} frames; {said}")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
