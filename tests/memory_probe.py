"""How much memory analyses take, each in a process of its own: ``python memory_probe.py SMALL_XTC LARGE_XTC``.

Reads names of cases from its input, and answers each with a line: for both files the most memory that the run took
beyond what there was before, bytes of its results, and frames; and atoms that were read. Modules are loaded once: each
process is a copy of this one, which has run nothing.

What is counted are addresses: the pages of a mapped file come and go as the system likes. One worker, and blocks of as
many frames each: how many blocks wait to be merged, which is bounded, depends on who is faster, and blocks as they are
planned grow with the file until they are large enough.
"""

import json
import os
import re
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

FRAMES_OF_A_BLOCK = 250


def kilobytes(name: str) -> int:
    """What the system says of this process."""
    found = re.search(rf"^{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"), re.MULTILINE)
    assert found is not None
    return int(found[1])


def measure(name: str, trajectory: str) -> dict[str, int]:
    """Run an analysis."""
    from analysis_case import everything
    from every_analysis import CASES
    from mdreel._core import FrameSet
    from mdreel.trajectory.open import open as open_trajectory
    from peptide_system import System, peptide

    case, source = CASES[name], open_trajectory(trajectory)
    analysis = case.make(System(peptide(), source))
    source.read(FrameSet.range(0, 1, 1), analysis.atoms)  # from now on the file is mapped
    n_parts = source.n_frames // FRAMES_OF_A_BLOCK
    before = kilobytes("VmSize")
    analysis.run(step=case.step, n_workers=1, n_parts=n_parts)
    peak = 1024 * (kilobytes("VmPeak") - before)
    n_bytes = sum(array.nbytes for array in everything(analysis))
    return {"peak": peak, "bytes": n_bytes, "frames": analysis.n_frames, "atoms": len(analysis.atoms)}


def in_a_copy(name: str, trajectory: str) -> Any:
    """Measure in a copy of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, json.dumps(measure(name, trajectory)).encode())
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    return json.loads(said) if status == 0 else {"failed": status}


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    from peptide_system import peptide

    peptide()
    for line in sys.stdin:
        answers = [in_a_copy(line.strip(), trajectory) for trajectory in sys.argv[1:]]
        print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    main()
