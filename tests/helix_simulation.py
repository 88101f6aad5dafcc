"""A simulation for tests: OpenMM unfolds a helix, whose frames are published on a channel and archived.

``python helix_simulation.py FOLDER FRAMES`` writes the topology ``helix.pdb``, the channel ``channel`` and the archive
``archive.h5md`` in the folder. It needs openmm and h5py.
"""

import sys
from pathlib import Path

from mdreel.live.demos.simulations import HELIX, STEP_PS, make_simulation, write_topology
from mdreel.live.engines.openmm import OpenMMReporter
from mdreel.live.producers.producer import Producer

INTERVAL = 10
N_SLOTS = 8
"""Frames that the simulation may be ahead of its consumers."""


def main(folder: Path, n_frames: int) -> None:
    write_topology(HELIX, folder / "helix.pdb")
    simulation = make_simulation(HELIX, 5)
    with Producer(
        folder / "channel",
        simulation.system.getNumParticles(),
        time_step=STEP_PS,
        stride=INTERVAL,
        n_slots=N_SLOTS,
        full="block",
        archive=folder / "archive.h5md",
    ) as producer:
        print("open", flush=True)
        producer.await_consumers(1, timeout=120)
        reporter = OpenMMReporter(producer, INTERVAL, wrap=False)
        simulation.reporters.append(reporter)
        reporter.run(simulation, n_frames * INTERVAL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
