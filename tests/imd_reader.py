"""A user of MDAnalysis: ``python imd_reader.py HOST:PORT N_ATOMS`` reads a stream to its end.

It says ``joined`` at its first frame, and in the end, as JSON, steps and times of frames, and a digest of positions.
"""

import hashlib
import json
import sys
import warnings

warnings.simplefilter("ignore")

import MDAnalysis as mda  # noqa: E402 (it warns when it is imported)


def main(address: str, n_atoms: str) -> None:
    universe = mda.Universe.empty(int(n_atoms), trajectory=False)
    universe.load_new(f"imd://{address}")
    print("joined", flush=True)
    steps, times, digest = [], [], hashlib.sha256()
    for frame in universe.trajectory:
        steps.append(int(frame.data["step"]))
        times.append(float(frame.time))
        digest.update(frame.positions.tobytes())
    print(json.dumps({"steps": steps, "times": times, "digest": digest.hexdigest()}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
