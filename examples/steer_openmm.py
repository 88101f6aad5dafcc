"""Steering of an OpenMM simulation of water, which is stopped and forked when its molecules have moved far enough.

``python examples/steer_openmm.py`` runs ``mdreel steer`` in a temporary folder with the rules below, and prints the
audit log. ``--simulate FOLDER`` runs only the simulation, and ``--dry-run`` carries out no action. It requires openmm.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import sleep
from typing import Any

import mdreel

EDGE_NM = 1.9
STEP_PS = 0.002
TEMPERATURE = 300.0
FORK_FRAMES = 5

RULES = """\
[[analysis]]
type = "rmsd"
name = "moved"
select = "name O"
superposition = false

[[rule]]
name = "far enough"
analysis = "moved"
column = "rmsd"
above = 0.8           # Å
frames = 5
share = 0.8           # 4 of the last 5 frames
actions = ["stop", "new velocities"]

[[action]]
name = "new velocities"
type = "fork"
command = [{words}, "--checkpoint", "{{checkpoint}}", "--seed", "{{seed}}"]
placeholders = true
wait = true           # the example ends after the fork
"""


def make_simulation(folder: Path) -> Any:
    """Create a box of about 200 water molecules, and write its topology."""
    import openmm
    from openmm import app, unit

    field = app.ForceField("tip3p.xml")
    model = app.Modeller(app.Topology(), [] * unit.nanometer)
    model.addSolvent(field, boxSize=openmm.Vec3(EDGE_NM, EDGE_NM, EDGE_NM) * unit.nanometer)
    system = field.createSystem(model.topology, nonbondedMethod=app.PME, nonbondedCutoff=0.8 * unit.nanometer)
    bath = (TEMPERATURE * unit.kelvin, 1 / unit.picosecond, STEP_PS * unit.picosecond)
    platform = openmm.Platform.getPlatformByName("CPU")
    simulation = app.Simulation(
        model.topology, system, openmm.LangevinMiddleIntegrator(*bath), platform, {"Threads": "1"}
    )
    simulation.context.setPositions(model.positions)
    with (folder / "water.pdb").open("w") as file:
        app.PDBFile.writeFile(model.topology, model.positions, file)
    return simulation


def simulate(folder: Path, n_frames: int, interval: int, pace: float) -> None:
    """Publish the simulation on a channel in the folder, until its end or a stop request."""
    simulation = make_simulation(folder)
    simulation.minimizeEnergy(maxIterations=100)
    simulation.context.setVelocitiesToTemperature(TEMPERATURE)
    n_atoms = simulation.system.getNumParticles()
    with mdreel.live.Producer(
        folder / "channel", n_atoms, time_step=STEP_PS, stride=interval, archive=folder / "run.dcd"
    ) as producer:
        # Do not wrap molecules, because the rule checks how far they move.
        reporter = mdreel.live.OpenMMReporter(producer, interval, folder / "run.checkpoint", wrap=False)
        simulation.reporters.append(reporter)
        producer.await_consumers(2, timeout=120)  # the archive and the steering
        for _ in range(n_frames):
            if not reporter.run(simulation, interval):
                print(f"the simulation was stopped at step {simulation.currentStep}", flush=True)
                return
            sleep(pace)
    print(f"the simulation has done its {simulation.currentStep} steps", flush=True)


def go_on(folder: Path, checkpoint: Path, seed: int, interval: int) -> None:
    """Simulate from a checkpoint with new velocities; the first frame is the checkpoint."""
    simulation = make_simulation(folder)
    mdreel.live.fork_openmm(simulation, checkpoint, TEMPERATURE, seed)
    n_atoms = simulation.system.getNumParticles()
    with mdreel.live.Producer(folder / "fork", n_atoms, time_step=STEP_PS, archive=folder / "fork.dcd") as producer:
        reporter = mdreel.live.OpenMMReporter(producer, interval, folder / "fork.checkpoint", wrap=False)
        reporter.report(simulation, simulation.context.getState(positions=True))
        simulation.reporters.append(reporter)
        reporter.run(simulation, FORK_FRAMES * interval)
    print(f"the fork went from {checkpoint.name} to step {simulation.currentStep}", flush=True)


def steer(folder: Path, words: list[str], dry_run: bool) -> int:
    """Start the simulation and steer it; return the exit code."""
    own = [sys.executable, str(Path(__file__).resolve()), "--simulate", str(folder), *words]
    (folder / "rules.toml").write_text(RULES.format(words=", ".join(map(json.dumps, own))))
    arguments = ["-s", str(folder / "water.pdb"), "--channel", str(folder / "channel"), "--quiet"]
    arguments += ["--log", str(folder / "steering.jsonl"), *(["--dry-run"] if dry_run else [])]
    command = [sys.executable, "-m", "mdreel.cli", "steer", str(folder / "rules.toml"), *arguments, "--", *own]
    return subprocess.run(command, check=False).returncode


def tell(log: Path) -> None:
    """Print an audit log."""
    for line in map(json.loads, log.read_text().splitlines()):
        frame = "" if line["sequence"] is None else f" at frame {line['sequence']} (step {line['step']})"
        about = ": ".join(name for name in (line["rule"], line["action"]) if name)
        print(f"{line['event']:>12}{frame}  {about}  {line['message']}")


def main() -> None:
    """Run the simulation and the steering, and print the audit log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=200, help="frames to simulate if nobody stops it")
    parser.add_argument("--interval", type=int, default=50, help="steps between two frames")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds to wait behind a frame")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
    parser.add_argument("--simulate", type=Path, metavar="FOLDER", help="the simulation alone")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="fork from here instead")
    parser.add_argument("--seed", type=int, default=1, help="of the fork's velocities")
    options = parser.parse_args()
    if options.checkpoint:
        go_on(options.simulate, options.checkpoint, options.seed, options.interval)
    elif options.simulate:
        simulate(options.simulate, options.frames, options.interval, options.pace)
    else:
        words = [f"--{name}={getattr(options, name)}" for name in ("frames", "interval", "pace")]
        with tempfile.TemporaryDirectory() as name:
            code = steer(Path(name), words, options.dry_run)
            tell(Path(name) / "steering.jsonl")
        sys.exit(code)


if __name__ == "__main__":
    main()
