"""The process of a contender: ``python -m mdreel_lab.bench.peers.process PROGRAM JOB`` prints one line of JSON."""

import json
import os
import sys
import warnings
from pkgutil import resolve_name
from typing import Any

from mdreel_lab.bench.peers.job import Job, report_of

PROGRAMS = {
    "at-once": "at_once:prepare",
    "chain": "files:prepare_chain",
    "chemfiles": "readers:prepare_chemfiles",
    "cpptraj": "readers:prepare_cpptraj",
    "freud": "freud:prepare",
    "distance-matrix": "distance_matrix:prepare",
    "gmx": "gmx:prepare",
    "mdanalysis": "mdanalysis:prepare",
    "mdreel": "mdreel:prepare",
    "mdtraj": "mdtraj:prepare",
    "scikit-learn": "scikit_learn:prepare",
    "straggler": "straggler:prepare",
    "writing": "files:prepare_writing",
}
"""The functions that prepare jobs; their modules are imported on demand, since they import the libraries."""


def run_job(program: str, job: Job) -> dict[str, Any]:
    """Run a job with a program; return its time and proof."""
    return report_of(resolve_name(f"mdreel_lab.bench.peers.{PROGRAMS[program]}"), job)


def main() -> None:
    """Run the job on the command line; of several ranks of MPI, the first prints."""
    warnings.simplefilter("ignore")
    report = run_job(sys.argv[1], Job.of_json(sys.argv[2]))
    if int(os.environ.get("PMI_RANK", "0")) == 0:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
