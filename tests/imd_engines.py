"""Engines for tests of IMD: LAMMPS with argon, GROMACS with some water."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from mdreel_lab.bench.exchange.work import free_port

LONG = 60.0
N_ARGON = 108
OF_ATOMS = ("xu", "yu", "zu", "vx", "vy", "vz", "fx", "fy", "fz")
ARGON = """\
units {units}
atom_style atomic
lattice fcc 5.26
region box prism 0 3 0 3 0 3 0.1 0 0
create_box 1 box
create_atoms 1 box
mass 1 39.948
pair_style lj/cut 7.5
pair_coeff 1 1 {well} 3.4
velocity all create 100 4711
timestep {time_step}
fix 1 all nve
dump 1 all custom {writes} {folder}/dump.txt id {columns}
dump_modify 1 format float %.17g sort id flush yes
thermo 1000
"""
LAMMPS = """\
fix 2 all imd {port} trate {stride} version {version} unwrap on {sends}
run {n_steps}
"""
IN_UNITS = {"metal": ("0.0104", "0.002"), "real": ("0.2381", "2.0")}


def file_of(package: str, end: str) -> Path:
    """Where a file of a package is, whose path ends so; the test is skipped without it."""
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    for file in files:
        if f"/{file}".endswith(f"/{end}"):
            return Path(str(file.locate())).resolve()
    pytest.skip(f"{package} has no {end}")


class Written(NamedTuple):
    """What LAMMPS has written of all frames: arrays of shape (n_frames, n_atoms, 3), float64, but steps."""

    steps: list[int]
    boxes: list[NDArray[np.float64]]
    positions: NDArray[np.float64]
    velocities: NDArray[np.float64]
    forces: NDArray[np.float64]


def lmp(*words: str | Path) -> tuple[list[str], dict[str, str]]:
    """How LAMMPS's program is called: command and environment."""
    library = file_of("mpich", "libmpi.so.12").parent
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library), "OMP_NUM_THREADS": "1"}
    return [str(file_of("lammps", "lammps/lmp")), "-log", "none", *map(str, words)], environment


def argon(folder: Path, writes: int, units: str = "metal") -> str:
    """The input of LAMMPS up to where it runs: it writes a frame every so many steps."""
    well, time_step = IN_UNITS[units]
    return ARGON.format(
        units=units, well=well, time_step=time_step, writes=writes, folder=folder, columns=" ".join(OF_ATOMS)
    )


@contextmanager
def lammps(
    folder: Path, n_frames: int, *, units: str = "metal", stride: int = 5, version: int = 3, writes: bool = True
) -> "Iterator[tuple[str, subprocess.Popen[bytes]]]":
    """Start LAMMPS, which waits for a client at the address; it sends as many frames as it writes, but the first."""
    port = free_port()
    sends = "time on box on coordinates on velocities on forces on nowait off" if version == 3 else "nowait off"
    script = folder / "in.argon"
    sent = LAMMPS.format(port=port, stride=stride, version=version, sends=sends, n_steps=stride * n_frames)
    script.write_text(argon(folder, stride if writes else stride * n_frames, units) + sent)
    command, environment = lmp("-in", script, "-screen", folder / "screen")
    with subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL) as process:
        try:
            yield f"127.0.0.1:{port}", process
        finally:
            process.kill()


def written_by_lammps(folder: Path) -> Written:
    """Read what it has written, without the frame before the first step."""
    whole = read_dump(folder / "dump.txt")
    return Written(whole.steps[1:], whole.boxes[1:], *(values[1:] for values in whole[2:]))


def read_restart(path: Path) -> Written:
    """What a restart file has, as LAMMPS itself reads it: one frame."""
    dump, script = path.with_name(f"{path.name}.txt"), path.with_name(f"{path.name}.in")
    writes = f"write_dump all custom {dump} id {' '.join(OF_ATOMS)} modify sort id format float %.17g"
    script.write_text(f"read_restart {path}\nmass 1 39.948\n{writes}\n")
    command, environment = lmp("-in", script)
    subprocess.run(command, env=environment, cwd=path.parent, check=True, capture_output=True, timeout=LONG)
    script.unlink()
    try:
        return read_dump(dump)
    finally:
        dump.unlink()


def read_dump(path: Path) -> Written:
    """Read a dump."""
    steps, boxes, values = [], [], []
    for text in path.read_text().split("ITEM: TIMESTEP\n")[1:]:
        lines = text.splitlines()
        steps.append(int(lines[0]))
        bounds = [[*map(float, line.split()), 0.0][:3] for line in lines[4:7]]  # a tilt behind them where there is one
        (low, high, xy), (y_low, y_high, _), (z_low, z_high, _) = bounds
        low, high = low - min(0.0, xy), high - max(0.0, xy)  # what is written are bounds of the tilted box
        boxes.append(np.array([[high - low, 0, 0], [xy, y_high - y_low, 0], [0, 0, z_high - z_low]]))
        values.append(np.loadtxt(lines[8:])[:, 1:])
    array = np.array(values)
    return Written(steps, boxes, array[:, :, :3], array[:, :, 3:6], array[:, :, 6:])


class Gromacs(NamedTuple):
    """A simulation that is ready to begin."""

    folder: Path
    n_atoms: int
    n_frames: int
    stride: int

    @contextmanager
    def running(self) -> "Iterator[tuple[str, subprocess.Popen[Any]]]":
        """Start it; it waits for a client at the address."""
        screen = self.folder / "screen"
        one = ["-ntmpi", "1", "-ntomp", "1", "-nb", "cpu"]
        command = ["gmx", "-quiet", "mdrun", "-deffnm", "md", "-imdwait", "-imdterm", "-imdport", "0", *one]
        # SIGPIPE, which Python ignores, would end GROMACS when it sends to a client that was killed.
        with (
            screen.open("wb") as output,
            subprocess.Popen(command, cwd=self.folder, stdout=output, stderr=output, restore_signals=False) as process,
        ):
            try:
                until = time.monotonic() + LONG
                while (found := re.search(r"on port (\d+)", screen.read_text())) is None:
                    assert process.poll() is None, screen.read_text()
                    assert time.monotonic() < until
                    time.sleep(0.01)
                yield f"127.0.0.1:{found[1]}", process
            finally:
                process.kill()

    def energies(self, *names: str) -> NDArray[np.float64]:
        """What it has written of energies in kJ/mol and temperatures: a row for each frame."""
        command = ["gmx", "-quiet", "energy", "-f", "md.edr", "-o", "energies.xvg"]
        typed = [name.replace(" ", "-") for name in names]
        subprocess.run(command, input="\n".join([*typed, "", ""]), text=True, cwd=self.folder, check=True, timeout=LONG)
        text = (self.folder / "energies.xvg").read_text()
        legends = re.findall(r'^@ s\d+ legend "(.+)"$', text, re.MULTILINE)
        rows = np.array([line.split() for line in text.splitlines() if line[0] not in "@#"], np.float64)
        return rows[:, [1 + legends.index(name) for name in names]]


PARAMETERS = """\
integrator = md
dt = 0.002
nsteps = {n_steps}
nstxout = {stride}
nstxout-compressed = {stride}
nstenergy = {stride}
nstcalcenergy = 1
cutoff-scheme = Verlet
coulombtype = Cut-off
rvdw = 0.6
rcoulomb = 0.6
constraints = h-bonds
gen-vel = yes
gen-temp = 300
gen-seed = 1
IMD-group = System
"""
TOPOLOGY = """\
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
"""


def water(folder: Path, n_frames: int, stride: int = 10) -> Gromacs:
    """Make a box of 213 waters."""
    if shutil.which("gmx") is None:
        pytest.skip("gmx is not installed")
    (folder / "md.mdp").write_text(PARAMETERS.format(n_steps=stride * (n_frames - 1), stride=stride))
    (folder / "topol.top").write_text(TOPOLOGY)
    for command in (
        "gmx -quiet solvate -cs spc216 -box 1.9 1.9 1.9 -o conf.gro -p topol.top",
        "gmx -quiet grompp -f md.mdp -c conf.gro -p topol.top -o md.tpr",
    ):
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True, timeout=LONG)
    return Gromacs(folder, int((folder / "conf.gro").read_text().splitlines()[1]), n_frames, stride)
