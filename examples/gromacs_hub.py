"""Live torsions of a dodecane chain in GROMACS, through an IMD hub.

``python examples/gromacs_hub.py`` starts mdrun, which waits for a client, and a hub, which is this client. Other
clients may connect to the hub. The analysis reads the hub's channel. At the end the example compares the torsions with
those of the trajectory that GROMACS has written. It requires ``gmx``.
"""

import argparse
import socket
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import mdreel

N_BEADS = 12
STRIDE = 50
STEP_PS = 0.002
EDGE_NM = 6.0
TORSION_DEGREES = 0.01
"""Tolerance of torsions, because GROMACS writes nm and sends Å, both as float32."""

PARAMETERS = """\
integrator = sd
dt = {step}
nsteps = {n_steps}
nstxout = {stride}
rvdw = 1.2
rcoulomb = 1.2
tc-grps = System
tau-t = 1
ref-t = 400
gen-vel = yes
gen-temp = 400
gen-seed = 1
ld-seed = 1
IMD-group = System
"""
FORCES = """\
[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
CH3 6 15.035 0.0 A 0.375 0.8148
CH2 6 14.027 0.0 A 0.395 0.3825
[ moleculetype ]
CHAIN 3
"""  # TraPPE-UA with flexible bonds: Martin and Siepmann, J. Phys. Chem. B 102 (1998) 2569
BOND = "1 0.154 260000"
ANGLE = "1 114.0 519.6"
TORSION = "5 5.904 -1.134 13.159 0.0"


def prepare(folder: Path, n_frames: int) -> None:
    """Write a stretched chain, its topology and the run parameters."""
    kinds = ["CH3", *["CH2"] * (N_BEADS - 2), "CH3"]
    start = EDGE_NM / 2 - 0.127 * N_BEADS / 2
    lines = ["dodecane", str(N_BEADS)]
    top = ["[ atoms ]"]
    for i, kind in enumerate(kinds):
        x, y, z = start + 0.127 * i, EDGE_NM / 2 + 0.087 * (i % 2), EDGE_NM / 2
        lines.append(f"{1:5}CHAIN{kind:>5}{i + 1:5}{x:8.3f}{y:8.3f}{z:8.3f}")
        top.append(f"{i + 1} {kind} 1 CHAIN {kind} {i + 1} 0.0")
    for name, n_beads, form in (("bonds", 2, BOND), ("angles", 3, ANGLE), ("dihedrals", 4, TORSION)):
        top.append(f"[ {name} ]")
        chains = (range(first, first + n_beads) for first in range(1, N_BEADS - n_beads + 2))
        top += [f"{' '.join(map(str, beads))} {form}" for beads in chains]
    top += ["[ system ]", "dodecane", "[ molecules ]", "CHAIN 1"]
    (folder / "chain.gro").write_text("\n".join([*lines, f"{EDGE_NM} {EDGE_NM} {EDGE_NM}", ""]))
    (folder / "chain.top").write_text(FORCES + "\n".join([*top, ""]))
    parameters = PARAMETERS.format(step=STEP_PS, n_steps=STRIDE * (n_frames - 1), stride=STRIDE)
    (folder / "md.mdp").write_text(parameters)
    command = "gmx -quiet grompp -f md.mdp -c chain.gro -p chain.top -o md.tpr"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)


def start_gromacs(folder: Path, port: int) -> "subprocess.Popen[bytes]":
    """Start GROMACS, which waits for a client."""
    command = ["gmx", "-quiet", "mdrun", "-deffnm", "md", "-nt", "1", "-imdwait", "-imdport", str(port)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def torsions_of(folder: Path, trajectory: Any) -> mdreel.Dihedral:
    """Create the analysis of the torsion around each inner bond."""
    import MDAnalysis as mda

    atoms = mda.Universe(folder / "chain.gro").atoms
    return mdreel.Dihedral([atoms[i : i + 4] for i in range(N_BEADS - 3)], trajectory=trajectory)


def main() -> None:
    """Run the simulation and the analysis, and compare the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=400, help="frames to simulate")
    n_frames = parser.parse_args().frames
    warnings.filterwarnings("ignore", module="MDAnalysis")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, n_frames)
        engine = mdreel.live.Engine(
            f"127.0.0.1:{port}",
            wait=60,
            n_atoms=N_BEADS,
            n_frames=n_frames,
            rate=STRIDE,
            time_step=STEP_PS,
            dialect="gromacs",
            n_consumers=1,
        )
        with start_gromacs(folder, port) as gromacs:
            with mdreel.live.Hub(folder / "channel", "127.0.0.1:0", engine, report=print) as hub:
                print(f"clients of IMD, such as VMD, are served at {hub.address}", flush=True)
                live = torsions_of(folder, mdreel.live.channel(folder / "channel", wait=60))
                for _ in mdreel.live.stream_results([live], every=0.2):
                    trans = np.mean(np.abs(live.results.angles) > 120)
                    print(f"{live.n_frames:6d} frames  {live.times[-1]:8.2f} ps  {trans:6.1%} trans", flush=True)
                print(f"the channel has {hub.wait()}")
            gromacs.wait()
        written = torsions_of(folder, folder / "md.trr").run()
    apart = (live.results.angles - written.results.angles + 180) % 360 - 180
    same = live.n_frames == written.n_frames == n_frames and np.abs(apart).max() < TORSION_DEGREES
    print(f"{n_frames} frames; torsions are {'those' if same else 'NOT those'} of the file that GROMACS has written")
    sys.exit(0 if same and gromacs.returncode == 0 else 1)


if __name__ == "__main__":
    main()
