"""The process of a contender: ``python -m mdreel_lab.bench.peers.process PROGRAM JOB`` prints one line of JSON."""

import json
import os
import sys
import warnings
from collections.abc import Mapping
from types import MappingProxyType

from mdreel_lab.bench.peers import at_once, files, freud, gmx, mdanalysis, mdreel, mdtraj, readers, straggler
from mdreel_lab.bench.peers.job import Job, Prepare, report_of

PROGRAMS: Mapping[str, Prepare] = MappingProxyType(
    {
        "at-once": at_once.prepare,
        "chain": files.prepare_chain,
        "chemfiles": readers.prepare_chemfiles,
        "cpptraj": readers.prepare_cpptraj,
        "freud": freud.prepare,
        "gmx": gmx.prepare,
        "mdanalysis": mdanalysis.prepare,
        "mdreel": mdreel.prepare,
        "mdtraj": mdtraj.prepare,
        "straggler": straggler.prepare,
        "writing": files.prepare_writing,
    }
)
"""Each imports its library when it prepares a job."""


def main() -> None:
    """Do the job named on the command line; of several ranks of MPI, the first prints."""
    warnings.simplefilter("ignore")
    report = report_of(PROGRAMS[sys.argv[1]], Job.of_json(sys.argv[2]))
    if int(os.environ.get("PMI_RANK", "0")) == 0:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
