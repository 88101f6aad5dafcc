"""Simulations of the demos. Both start from a structure that is installed with OpenMM.

The program ``python -m mdreel.live.demos.simulations water`` runs villin, a protein of 35 residues, in water. With
``helix``, it runs the last 12 residues of villin in implicit solvent, which unfold.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

from mdreel.errors import UnsupportedError

STEP_PS = 0.004
WATER, HELIX = "water", "helix"
SYSTEMS = (WATER, HELIX)
CHECKPOINT = "state.checkpoint"

_INTERVALS = {WATER: 5, HELIX: 10}
"""Number of steps between two frames."""
_TEMPERATURES = {WATER: 300.0, HELIX: 450.0}
"""Temperatures in K."""
_N_HELIX = 12
_FRAMES_PER_CHECKPOINT = 100
_JOIN_SECONDS = 120.0
"""Maximum time to wait for consumers before the first frame, in s."""


def check_openmm() -> None:
    """Check that OpenMM and its structure of villin are installed.

    Raises
    ------
    UnsupportedError
        If a part is missing. The message names the remedy.
    """
    try:
        from openmm import app
    except ImportError as error:
        raise UnsupportedError(
            f"the demo runs OpenMM, which cannot be imported ({error}): pip install openmm"
        ) from None
    path = _structure(app)
    if not path.is_file():
        raise UnsupportedError("the demo starts from this structure of OpenMM, which is missing", path=path)


def make_system(kind: str) -> Any:
    """Return the topology and the positions of a demo as an OpenMM ``Modeller``.

    Parameters
    ----------
    kind : {"water", "helix"}
        Villin in water (8,867 atoms), or its last 12 residues (222 atoms).

    Examples
    --------
    >>> from mdreel.live.demos.simulations import make_system
    >>> make_system("helix").topology.getNumAtoms()  # doctest: +SKIP
    222
    """
    from openmm import app

    structure = app.PDBFile(str(_structure(app)))
    model = app.Modeller(structure.topology, structure.positions)
    if kind == HELIX:
        protein = [residue for residue in model.topology.residues() if residue.name not in ("HOH", "Cl")]
        kept = set(protein[-_N_HELIX:])
        model.delete([residue for residue in model.topology.residues() if residue not in kept])
        model.addHydrogens(app.ForceField("amber14-all.xml"))  # the first residue is a terminus now
    return model


def write_topology(kind: str, path: Path) -> None:
    """Write the atoms and bonds of a demo as a PDB file."""
    import MDAnalysis as mda

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the PDB file has default values of optional columns
        mda.Universe(make_system(kind)).atoms.write(str(path), bonds="all")


def make_simulation(kind: str, seed: int) -> Any:
    """Create a simulation on one core of the CPU, with minimized energy and random velocities."""
    import openmm
    from openmm import app, unit

    system = make_system(kind)
    common = {"constraints": app.HBonds, "hydrogenMass": 3 * unit.amu}
    if kind == WATER:
        field = app.ForceField("amber14-all.xml", "amber14/tip3p.xml")
        forces = field.createSystem(
            system.topology, nonbondedMethod=app.PME, nonbondedCutoff=0.9 * unit.nanometer, **common
        )
    else:
        field = app.ForceField("amber14-all.xml", "implicit/obc2.xml")
        forces = field.createSystem(system.topology, nonbondedMethod=app.NoCutoff, **common)
    temperature = _TEMPERATURES[kind] * unit.kelvin
    integrator = openmm.LangevinMiddleIntegrator(temperature, 1 / unit.picosecond, STEP_PS * unit.picosecond)
    integrator.setRandomNumberSeed(seed)
    platform = openmm.Platform.getPlatformByName("CPU")
    simulation = app.Simulation(system.topology, forces, integrator, platform, {"Threads": "1"})
    simulation.context.setPositions(system.positions)
    simulation.minimizeEnergy(maxIterations=20)
    simulation.context.setVelocitiesToTemperature(temperature, seed)
    return simulation


def simulate(kind: str, channel: str, seed: int, n_frames: int, n_consumers: int, staging: Path | None) -> bool:
    """Run a simulation and publish its frames. Return False if it was stopped by a request.

    Parameters
    ----------
    kind : {"water", "helix"}
        The system.
    channel : str
        Name or directory of the channel.
    seed : int
        Seed of the velocities.
    n_frames : int
        Number of frames.
    n_consumers : int
        Number of consumers for which the simulation waits before its first frame.
    staging : Path or None
        Directory that retains all frames, so that slow consumers do not delay the simulation.
    """
    from mdreel.live.channels.staging import Staging
    from mdreel.live.engines.openmm import OpenMMReporter
    from mdreel.live.producers.producer import Producer

    simulation, interval = make_simulation(kind, seed), _INTERVALS[kind]
    with Producer(
        channel,
        simulation.system.getNumParticles(),
        time_step=STEP_PS,
        stride=interval,
        full="block" if staging is None else "spill",
        staging=None if staging is None else Staging(staging),
    ) as producer:
        producer.await_consumers(n_consumers, timeout=_JOIN_SECONDS)
        # Molecules stay whole, because the analyses compare shapes.
        reporter = OpenMMReporter(producer, interval, CHECKPOINT, checkpoint_frames=_FRAMES_PER_CHECKPOINT, wrap=False)
        simulation.reporters.append(reporter)
        return reporter.run(simulation, n_frames * interval)


def main() -> None:
    """Run a simulation of a demo."""
    parser = argparse.ArgumentParser(description="Run a simulation of an mdreel demo.")
    parser.add_argument("kind", choices=SYSTEMS)
    parser.add_argument("channel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frames", type=int, default=10_000)
    parser.add_argument("--consumers", type=int, default=1)
    parser.add_argument("--staging", type=Path)
    given = parser.parse_args()
    warnings.filterwarnings("ignore", "Non-optimal GB parameters")
    simulate(given.kind, given.channel, given.seed, given.frames, given.consumers, given.staging)


def _structure(app: Any) -> Path:
    return Path(app.__file__).parent / "data" / "test.pdb"


if __name__ == "__main__":
    main()
