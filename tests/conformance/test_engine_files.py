"""Files that OpenMM and GROMACS write here and now, read as MDAnalysis reads them: the same bits."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from MDAnalysisTests.datafiles import TRR, TRR_xvf

from conformance.mdanalysis_oracle import Frames, differences, frames_of_mdanalysis, frames_of_mdreel

pytestmark = pytest.mark.filterwarnings("ignore:DCDReader currently makes independent timesteps:DeprecationWarning")
needs_gromacs = pytest.mark.skipif(shutil.which("gmx") is None, reason="gmx is not installed")


def check(path: Path, n_frames: int, n_atoms: int) -> Frames:
    """Check that a file has the bits that MDAnalysis reads; return its frames."""
    ours, theirs = frames_of_mdreel(path), frames_of_mdanalysis(path)
    assert differences(ours, theirs) == {}
    assert ours.positions.shape == (n_frames, n_atoms, 3)
    return ours


# --- OpenMM --------------------------------------------------------------------------------------------------------

CELLS = {
    "none": None,
    "rectangular": ((3.0, 0.0, 0.0), (0.0, 3.5, 0.0), (0.0, 0.0, 4.0)),
    "triclinic": ((3.0, 0.0, 0.0), (1.0, 2.8, 0.0), (-1.2, 0.9, 2.5)),
}


def simulate_with_openmm(folder: Path, ending: str, cell: tuple[tuple[float, ...], ...] | None, n_atoms: int) -> Path:
    """Particles that fly freely in a cell that grows: five frames, 1 ps apart."""
    import openmm
    from openmm import app, unit

    vectors = None if cell is None else [openmm.Vec3(*row) for row in cell]
    system, topology = openmm.System(), app.Topology()
    residue = topology.addResidue("AR", topology.addChain())
    argon = app.Element.getBySymbol("Ar")
    for _ in range(n_atoms):
        system.addParticle(39.9)
        topology.addAtom("AR", argon, residue)
    if vectors is not None:
        force = openmm.NonbondedForce()
        force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
        for _ in range(n_atoms):
            force.addParticle(0.0, 0.3, 0.0)
        system.addForce(force)
        system.setDefaultPeriodicBoxVectors(*vectors)
        topology.setPeriodicBoxVectors(vectors * unit.nanometer)
    integrator = openmm.VerletIntegrator(0.5 * unit.picosecond)
    platform = openmm.Platform.getPlatformByName("Reference")
    simulation = app.Simulation(topology, system, integrator, platform)
    random = np.random.default_rng(7)
    simulation.context.setPositions(random.uniform(0, 3, (n_atoms, 3)))
    simulation.context.setVelocities(random.normal(0, 0.3, (n_atoms, 3)))
    path = folder / f"openmm.{ending}"
    reporter = app.XTCReporter if ending == "xtc" else app.DCDReporter
    simulation.reporters.append(reporter(str(path), 2))
    for i in range(5):
        if vectors is not None:
            simulation.context.setPeriodicBoxVectors(*(vector * (1 + 0.01 * i) for vector in vectors))
        simulation.step(2)
    return path


@pytest.mark.parametrize("n_atoms", [5, 40])  # XTC stores 9 atoms and fewer without compression
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("ending", ["dcd", "xtc"])
def test_file_of_openmm_has_the_bits_that_mdanalysis_reads(
    tmp_path: Path, ending: str, cell: str, n_atoms: int
) -> None:
    path = simulate_with_openmm(tmp_path, ending, CELLS[cell], n_atoms)
    frames = check(path, 5, n_atoms)
    np.testing.assert_allclose(frames.times, [1, 2, 3, 4, 5], rtol=1e-6)
    if cell == "none":
        assert np.isnan(frames.dimensions).all()
    else:
        assert (np.diff(frames.dimensions[:, 0]) > 0).all()


# --- GROMACS -------------------------------------------------------------------------------------------------------


def gmx(folder: Path, *words: str | Path) -> None:
    command = ["gmx", "-quiet", "-nobackup", *map(str, words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@needs_gromacs
@pytest.mark.parametrize("decimals", [None, 2, 5])
def test_file_of_trjconv_has_the_bits_that_mdanalysis_reads(tmp_path: Path, decimals: int | None) -> None:
    gmx(tmp_path, "trjconv", "-f", TRR, "-o", "out.xtc", *(() if decimals is None else ("-ndec", str(decimals))))
    check(tmp_path / "out.xtc", 10, 47681)


@needs_gromacs
@pytest.mark.parametrize("velocities", ["-vel", "-novel"])
@pytest.mark.parametrize("forces", ["-force", "-noforce"])
def test_trr_of_trjconv_has_the_bits_that_mdanalysis_reads(tmp_path: Path, velocities: str, forces: str) -> None:
    (tmp_path / "some.ndx").write_text("\n".join(["[ some ]", *map(str, range(5, 5000, 3)), ""]))
    gmx(tmp_path, "trjconv", "-f", TRR_xvf, "-n", "some.ndx", "-o", "out.trr", velocities, forces)
    frames = check(tmp_path / "out.trr", 3, 1665)
    assert np.isfinite(frames.positions).all()
    assert np.isfinite(frames.velocities).all() == (velocities == "-vel")
    assert np.isfinite(frames.forces).all() == (forces == "-force")


@needs_gromacs
def test_file_of_trjconv_without_a_cell_has_the_bits_that_mdanalysis_reads(tmp_path: Path, adk_xtc: Path) -> None:
    gmx(tmp_path, "trjconv", "-f", adk_xtc, "-o", "out.xtc", "-ndec", "4", "-box", "0", "0", "0")
    assert np.isnan(check(tmp_path / "out.xtc", 98, 3341).dimensions).all()


@needs_gromacs
@pytest.mark.parametrize("n_atoms", [1, 9, 10])
@pytest.mark.parametrize("ending", ["xtc", "trr"])
def test_file_of_few_atoms_of_trjconv_has_the_bits_that_mdanalysis_reads(
    tmp_path: Path, ending: str, n_atoms: int
) -> None:
    (tmp_path / "few.ndx").write_text(f"[ few ]\n{' '.join(str(47_000 + i) for i in range(n_atoms))}\n")
    gmx(tmp_path, "trjconv", "-f", TRR, "-n", "few.ndx", "-o", f"few.{ending}")
    check(tmp_path / f"few.{ending}", 10, n_atoms)


TOPOLOGY = """#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"
[ system ]
water
[ molecules ]
"""
PARAMETERS = """integrator = md
dt = 0.002
nsteps = 40
nstxout-compressed = 10
nstxout = 20
nstvout = 10
nstfout = 40
compressed-x-precision = {precision}
coulombtype = reaction-field
rcoulomb = 0.8
rvdw = 0.8
tcoupl = v-rescale
tc-grps = system
ref-t = 300
tau-t = 0.1
pcoupl = Berendsen
pcoupltype = isotropic
ref-p = 1000
compressibility = 4.5e-5
tau-p = 1
nstpcouple = 10
gen-vel = yes
gen-seed = 1
ld-seed = 1
"""


@needs_gromacs
@pytest.mark.parametrize("precision", [1000, 100_000])
def test_file_of_mdrun_has_the_bits_that_mdanalysis_reads(tmp_path: Path, precision: int) -> None:
    """221 water molecules for 80 fs, under a barostat that changes the cell."""
    (tmp_path / "topol.top").write_text(TOPOLOGY)
    (tmp_path / "md.mdp").write_text(PARAMETERS.format(precision=precision))
    gmx(tmp_path, "solvate", "-cs", "spc216.gro", "-box", "2", "2", "2", "-o", "water.gro", "-p", "topol.top")
    gmx(tmp_path, "grompp", "-f", "md.mdp", "-c", "water.gro", "-p", "topol.top", "-o", "md.tpr", "-maxwarn", "2")
    gmx(tmp_path, "mdrun", "-s", "md.tpr", "-deffnm", "md", "-nt", "1")
    n_atoms = len((tmp_path / "water.gro").read_text().splitlines()) - 3
    frames = check(tmp_path / "md.xtc", 5, n_atoms)
    np.testing.assert_allclose(frames.times, [0, 0.02, 0.04, 0.06, 0.08], atol=1e-6)
    assert len(np.unique(frames.dimensions[:, 0])) == 5
    # Every frame has a box and velocities; every second one positions, every fourth forces.
    full = check(tmp_path / "md.trr", 5, n_atoms)
    assert np.isfinite(full.velocities).all()
    assert np.isfinite(full.positions).all(axis=(1, 2)).tolist() == [True, False, True, False, True]
    assert np.isfinite(full.forces).all(axis=(1, 2)).tolist() == [True, False, False, False, True]
    np.testing.assert_array_equal(full.steps, [0, 10, 20, 30, 40])
