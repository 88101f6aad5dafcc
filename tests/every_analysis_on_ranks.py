"""A program for ranks: every analysis in every way that ranks have, of which each keeps a digest of the results."""

import json
import sys
import warnings
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mdreel
from analysis_case import everything
from every_analysis import CASES
from mdreel.analysis.base.analysis import Analysis
from mdreel.execution.executors.mpi.launcher import launched
from peptide_system import System, peptide

if TYPE_CHECKING:
    from mdreel.execution.executors.executor import Executor

WAYS: list[dict[str, Any]] = [
    {"schedule": schedule, "communication": communication}
    for schedule, communication in product(["demand", "static"], ["gather", "window"])
]


def digests(trajectory: Path | list[Path], backend: "str | Executor", **options: Any) -> dict[str, str]:
    """Run all analyses; a digest of what each has found."""
    system = System(peptide(), trajectory)
    made = {name: case.make(system) for name, case in CASES.items()}
    mdreel.run(list(made.values()), backend=backend, **options)
    return {name: _digest(analysis) for name, analysis in made.items()}


def _digest(analysis: Analysis) -> str:
    found = sha256()
    for array in everything(analysis):
        found.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    return found.hexdigest()


def main() -> None:
    warnings.simplefilter("ignore")
    place = launched()
    assert place is not None
    folder, *segments = map(Path, sys.argv[1:])
    kept = [digests(segments, "serial")]  # by itself, with one thread as all ranks: LAPACK's bits depend on how many
    for way, access in product(WAYS, ["chain", "segments"]):
        executor = mdreel.Mpi(**way)
        kept.append(executor.share(lambda executor=executor, access=access: digests(segments, executor, access=access)))
    (folder / f"rank{place.rank}.json").write_text(json.dumps(kept))


if __name__ == "__main__":
    main()
