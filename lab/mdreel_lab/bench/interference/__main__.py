"""Run the experiment: ``python -m mdreel_lab.bench.interference -o FOLDER``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from mdreel.errors import UnsupportedError
from mdreel_lab.bench.interference.experiment import Size, measure
from mdreel_lab.bench.interference.settings import MPICH, OPEN_MPI
from mdreel_lab.bench.interference.tables import tables_of
from mdreel_lab.bench.processes import ProcessError
from mdreel_lab.bench.records import write_json, write_text
from mdreel_lab.bench.rigs.links import Throttle


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the records and the tables to a folder; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m mdreel_lab.bench.interference", description=__doc__)
    parser.add_argument("-o", "--output-folder", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="folder of the trajectories; by default, data in the output folder")
    parser.add_argument("--frames", type=int, default=4187)
    parser.add_argument("--ranks-per-host", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--link", type=float, default=12.5, metavar="MB/S", help="bandwidth of each link")
    parser.add_argument("--queue", type=int, default=256, metavar="KIB", help="queue in front of each link")
    parser.add_argument("--mpi", action="append", choices=(MPICH, OPEN_MPI), help="can be repeated")
    parser.add_argument("--minutes", type=float, default=10.0, help="begin no round that would end later")
    given = parser.parse_args(arguments)
    limit = Throttle(1e6 * given.link, given.queue << 10)
    size = Size(
        given.frames,
        given.ranks_per_host,
        given.rounds,
        limit,
        tuple(given.mpi or (MPICH, OPEN_MPI)),
        60 * given.minutes,
    )
    folder: Path = given.output_folder
    folder.mkdir(parents=True, exist_ok=True)
    try:
        page = measure(size, given.data or folder / "data", lambda line: print(line, file=sys.stderr, flush=True))
    except (UnsupportedError, ProcessError) as error:
        print(f"interference: {error}", file=sys.stderr)
        return 1
    write_json(folder / "records.json", page)
    for table in tables_of(page):
        write_text(folder / f"{table.name}.csv", table.csv)
        write_text(folder / f"{table.name}.md", f"**{table.title}**\n\n{table.markdown}")
        print(f"{table.title}\n\n{table.markdown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
