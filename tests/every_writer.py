"""A program for tests: ``python every_writer.py FOLDER`` writes a file with each writer of mdreel into a folder.

Writers are found by the tables in which mdreel itself looks them up, so that a new one is among them. It says the names
of the files.
"""

import json
import sys
import warnings
from pathlib import Path

import MDAnalysis as mda
import numpy as np
from matplotlib.figure import Figure
from MDAnalysisTests.datafiles import DCD, PSF

import mdreel
from any_record import real_record
from mdreel.analysis.rmsd import RMSD
from mdreel.live.engines.engine_commands import _write_checkpoint
from mdreel.live.ensemble.journal import Journal
from mdreel.live.managed.writer import ManagedProducer
from mdreel.live.producers.producer import Producer
from mdreel.live.steering.log import AuditLog
from mdreel.results import figure
from mdreel.results.column import Column
from mdreel.results.files import write
from mdreel.timing.files import WRITERS as RECORDS
from mdreel.timing.files import write_record
from mdreel.timing.report.page import write_report
from mdreel.trajectory.concat import concat
from mdreel.trajectory.convert import convert
from mdreel.trajectory.output_file import formats
from mdreel.trajectory.repack import repack
from mdreel.trajectory.split import split
from table_writers import INSTALLED


def write_results(folder: Path) -> None:
    """Write tables and figures."""
    columns = [Column("time", "ps", np.arange(5.0)), Column("rmsd", "Å", np.ones(5))]
    for ending in INSTALLED:
        write(folder / f"table{ending}", columns, {"title": "RMSD"})
    for ending in figure.EXTENSIONS:
        figure.save(Figure(), folder / f"figure{ending}")


def write_records(folder: Path) -> None:
    """Write records of a run, and the page of one."""
    record = real_record()
    for ending in RECORDS:
        write_record(record, folder / f"record{ending}")
    write_report(record, folder / "report.html")


def write_trajectories(folder: Path) -> None:
    """Write trajectories in each way and format."""
    for known in formats():
        convert(DCD, folder / f"converted{known.ending}", stop=4)
        split(DCD, folder / f"split{known.ending}", n_parts=2, stop=4)
        concat([folder / f"split-{part}{known.ending}" for part in (1, 2)], folder / f"joined{known.ending}")
    repack(DCD, folder / "repacked.h5md", access="both", stop=4)


def write_archives(folder: Path) -> None:
    """Write archives of a channel."""
    for known in formats():
        with Producer(folder.parent / "channel", 5, n_slots=8) as producer:
            for frame in range(3):
                producer.publish(np.full((5, 3), frame, np.float32), frame, float(frame), np.eye(3) * 50)
        mdreel.live.archive(folder.parent / "channel", folder / f"archive{known.ending}")


def write_others(folder: Path) -> None:
    """Write what runs keep to go on from, and files of managed directories that are to survive the machine."""
    atoms = mda.Universe(PSF).select_atoms("name CA")
    RMSD(atoms, trajectory=DCD).run(backend="serial", n_parts=4, checkpoint=folder / "run.checkpoint")
    _write_checkpoint(folder / "simulation.checkpoint", lambda path: path.write_bytes(b"state"))
    with ManagedProducer(folder.parent / "managed", fsync=True) as producing, producing.open("frame", "wb") as file:
        file.write(b"frame")
    with Journal(folder.parent / "replica.jsonl") as journal:
        journal.write("starting", "it begins")
    log = AuditLog(folder.parent / "steering.jsonl")
    log.write("started", "rules")
    log.close()


def main(folder: Path) -> None:
    folder.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_results(folder)
        write_records(folder)
        write_trajectories(folder)
        write_archives(folder)
        write_others(folder)
    print(json.dumps(sorted(path.name for path in folder.iterdir())))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
