"""Box of water for GROMACS with slow frames."""

import shutil
import subprocess
from pathlib import Path

LONGEST_SECONDS = 300

WATER = """
[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
OW 8 15.9994 0.0 A 0.316557 0.650194
HW 1 1.008 0.0 A 0.0 0.0
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW 1 -0.8476 15.9994
2 HW 1 SOL HW1 1 0.4238 1.008
3 HW 1 SOL HW2 1 0.4238 1.008
[ settles ]
1 1 0.1 0.16333
[ exclusions ]
1 2 3
2 1 3
3 1 2
[ system ]
water
[ molecules ]
SOL 216
"""  # SPC/E: Berendsen et al., J. Phys. Chem. 91 (1987) 6269

SETTINGS = """
integrator = md
dt = 0.002
nsteps = {steps}
nstxout-compressed = {stride}
nstxout = {full}
nstvout = {full}
nstlist = 10
rlist = 0.9
rcoulomb = 0.85
rvdw = 0.85
coulombtype = reaction-field
epsilon-rf = 78
tcoupl = v-rescale
tc-grps = System
tau-t = 0.5
ref-t = 300
gen-vel = yes
gen-temp = 300
gen-seed = {seed}
verlet-buffer-tolerance = -1
"""

RUN = ("gmx", "-quiet", "mdrun", "-deffnm", "md", "-nt", "1")


def structure() -> Path | None:
    """Return the file with 216 water molecules of GROMACS; None if GROMACS is not installed."""
    program = shutil.which("gmx")
    path = None if program is None else Path(program).parents[1] / "share/gromacs/top/spc216.gro"
    return path if path is not None and path.exists() else None


def gmx(folder: Path, *words: str, given: str = "") -> str:
    """Run a GROMACS command; return its output."""
    command = ["gmx", "-quiet", *words]
    done = subprocess.run(
        command, cwd=folder, input=given, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def prepare(folder: Path, steps: int, stride: int) -> None:
    """Write the input of a run of water and the settings of a fork."""
    source = structure()
    assert source is not None
    (folder / "conf.gro").write_bytes(source.read_bytes())
    (folder / "water.top").write_text(WATER)
    (folder / "md.mdp").write_text(SETTINGS.format(steps=steps, stride=stride, full=0, seed=7))
    (folder / "fork.mdp").write_text(SETTINGS.format(steps=100, stride=0, full=50, seed="SEED"))
    gmx(folder, "grompp", "-f", "md.mdp", "-c", "conf.gro", "-p", "water.top", "-o", "md.tpr")
