"""A simulation for tests: OpenMM with PLUMED, to which it gives positions and cell in each step, as GROMACS does.

``python plumed_simulation.py STEPS`` runs argon with ``plumed.dat`` of the working directory. OpenMM writes every fifth
step to ``md.dcd``, and at the end the same positions to ``positions.npy``, in nm as float64.

* ``--length-unit NM``: unit of the positions that PLUMED gets;
* ``--single``: give PLUMED float32 numbers, as GROMACS does;
* ``--first STEP``: continue behind this step, and tell PLUMED that this is a restart;
* ``--twice``: have PLUMED compute each step twice;
* ``--end``: ``finalize`` PLUMED as MD codes do, have it ``run-final-jobs``, or ``exit`` and leave it as it is.
"""

import argparse
import ctypes
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import openmm
from openmm import app, unit

N_ATOMS = 216
EDGE = 2.4
"""nm, of the cell."""
INTERVAL = 5
STEP_PS = 0.004


def c_library() -> Path:
    """Return PLUMED's library for MD codes, which lies beside the folder of its programs."""
    command = ["plumed", "info", "--root"]
    root = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return Path(root).resolve().parent / "libplumed.so"


class PlumedHandle(ctypes.Structure):
    """The C structure ``plumed``."""

    _fields_ = [("p", ctypes.c_void_p)]


class Plumed:
    """PLUMED's interface for MD codes."""

    def __init__(self) -> None:
        library = c_library()
        kernel = library.with_name("libplumedKernel.so")
        os.environ.setdefault("PLUMED_KERNEL", str(kernel))
        ctypes.CDLL(str(kernel), ctypes.RTLD_LOCAL)  # the library finds it by its name, as plugins do
        self._library = ctypes.CDLL(str(library), ctypes.RTLD_LOCAL)
        self._library.plumed_create.restype = PlumedHandle
        self._library.plumed_cmd.argtypes = [PlumedHandle, ctypes.c_char_p, ctypes.c_void_p]
        self._library.plumed_finalize.argtypes = [PlumedHandle]
        self._handle = self._library.plumed_create()

    def cmd(self, key: str, value: Any = None) -> None:
        """Give PLUMED a value: an array, an integer, or text."""
        if isinstance(value, np.ndarray):
            value = value.ctypes.data_as(ctypes.c_void_p)
        elif isinstance(value, int):
            value = ctypes.byref(ctypes.c_int(value))
        elif isinstance(value, str):
            value = ctypes.c_char_p(value.encode())
        self._library.plumed_cmd(self._handle, key.encode(), value)

    def finalize(self) -> None:
        """Free PLUMED, as an MD code does at its end."""
        self._library.plumed_finalize(self._handle)


def argon() -> "app.Simulation":
    """Return a simulation of argon that starts from a lattice."""
    topology = app.Topology()
    residue = topology.addChain()
    for _ in range(N_ATOMS):
        topology.addAtom("Ar", app.Element.getBySymbol("Ar"), topology.addResidue("AR", residue))
    topology.setPeriodicBoxVectors(np.diag([EDGE] * 3) * unit.nanometer)
    system = openmm.System()
    system.setDefaultPeriodicBoxVectors(*(openmm.Vec3(*row) for row in np.diag([EDGE] * 3)))
    force = openmm.NonbondedForce()
    force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(1.0)
    for _ in range(N_ATOMS):
        system.addParticle(39.948)
        force.addParticle(0.0, 0.34, 1.0)
    system.addForce(force)
    integrator = openmm.LangevinMiddleIntegrator(120.0, 1.0, STEP_PS)
    integrator.setRandomNumberSeed(4711)
    simulation = app.Simulation(topology, system, integrator, openmm.Platform.getPlatformByName("Reference"))
    lattice = np.stack(np.meshgrid(*[np.arange(6)] * 3, indexing="ij"), -1).reshape(-1, 3) * (EDGE / 6)
    simulation.context.setPositions(lattice)
    simulation.context.setVelocitiesToTemperature(120.0, 4711)
    return simulation


def main() -> None:
    """Run; PLUMED sees each step."""
    parser = argparse.ArgumentParser()
    parser.add_argument("steps", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--length-unit", type=float, default=1.0)
    parser.add_argument("--end", choices=("finalize", "run-final-jobs", "exit"), default="finalize")
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--twice", action="store_true")
    given = parser.parse_args()
    simulation = argon()
    simulation.currentStep = given.first
    simulation.reporters.append(app.DCDReporter("md.dcd", INTERVAL, enforcePeriodicBox=False))
    real = np.float32 if given.single else np.float64
    plumed = Plumed()
    plumed.cmd("setRealPrecision", real().itemsize)
    plumed.cmd("setMDLengthUnits", np.array(given.length_unit, real))
    plumed.cmd("setMDEngine", "OpenMM")
    plumed.cmd("setNatoms", N_ATOMS)
    plumed.cmd("setTimestep", np.array(STEP_PS, real))
    plumed.cmd("setPlumedDat", "plumed.dat")
    plumed.cmd("setLogFile", "plumed.log")
    if given.first:
        plumed.cmd("setRestart", 1)
    plumed.cmd("init")
    masses = np.full(N_ATOMS, 39.948, real)
    forces, virial = np.zeros((N_ATOMS, 3), real), np.zeros((3, 3), real)
    kept = []
    for step in range(given.first + 1, given.first + given.steps + 1):
        simulation.step(1)
        state = simulation.context.getState(positions=True)
        positions = np.array(state.getPositions(asNumpy=True).value_in_unit(unit.nanometer))
        box = np.array(state.getPeriodicBoxVectors(asNumpy=True).value_in_unit(unit.nanometer))
        if step % INTERVAL == 0:
            kept.append(positions)
        scaled, scaled_box = ((array / given.length_unit).astype(real) for array in (positions, box))
        arrays = {"Masses": masses, "Positions": scaled, "Box": scaled_box, "Forces": forces, "Virial": virial}
        for _ in range(1 + given.twice):
            plumed.cmd("setStep", step)
            for name, array in arrays.items():
                plumed.cmd(f"set{name}", array)
            plumed.cmd("calc")
    np.save("positions.npy", kept)
    if given.end == "run-final-jobs":
        plumed.cmd("runFinalJobs")
    elif given.end == "finalize":
        plumed.finalize()
    os._exit(0)


if __name__ == "__main__":
    main()
