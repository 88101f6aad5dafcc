"""Files of run records in several formats."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

from numpy import void
from numpy.typing import NDArray

from mdreel.errors import UnsupportedError
from mdreel.foundation.atomic_files import check_target, replacing
from mdreel.timing import caliper, chrome, jsonl, opentelemetry, parquet
from mdreel.timing.header import Header
from mdreel.timing.record import Record
from mdreel.timing.timing import Timing

WRITERS: Mapping[str, Callable[[Path, Record], None]] = {
    ".jsonl": jsonl.write,
    ".parquet": parquet.write,
    ".trace.json": chrome.write,
    ".otlp.json": opentelemetry.write,
    ".cali.json": caliper.write,
}
"""Writers by file extension: for spans, and for viewers."""

READERS: Mapping[str, Callable[[Path], tuple[Header, NDArray[void]]]] = {
    ".jsonl": jsonl.read,
    ".parquet": parquet.read,
}


def check_record_file(path: Path, force: bool = False) -> None:
    """Check before a run that its record can be written to `path`.

    Parameters
    ----------
    path : Path
        The output file; its extension selects the format.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    UnsupportedError
        If the extension is unknown, or its format needs a package that is not installed.
    OSError
        If the file exists and `force` is false, or its directory does not exist or is not writable.
    """
    _ending(path, WRITERS)
    check_target(path, force)


def write_record(record: Record, path: str | PathLike[str], force: bool = False) -> None:
    """Write a record to a file, which stays unchanged after an error.

    Parameters
    ----------
    record : Record
        The record.
    path : path
        The file. ``.jsonl`` and ``.parquet`` store the complete record; ``.trace.json`` (Perfetto), ``.otlp.json``
        (OpenTelemetry) and ``.cali.json`` (Hatchet) store the data for viewers.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    UnsupportedError, OSError
        See `check_record_file`; also if the disk is full. No partial file remains.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from mdreel.timing.environment import environment_of
    >>> from mdreel.timing.files import write_record
    >>> from mdreel.timing.record import Record
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> environment = environment_of([DCD])
    >>> timing = mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA").run().timing
    >>> write_record(Record(timing, environment, None, "RMSD"), "run.trace.json")
    """
    path = Path(path)
    write = WRITERS[_ending(path, WRITERS)]
    with replacing(path, force) as temporary:
        write(temporary, record)


def read_record(path: str | PathLike[str]) -> Record:
    """Read a record.

    Parameters
    ----------
    path : path
        File written by `write_record`, ``.jsonl`` or ``.parquet``.

    Returns
    -------
    Record
        The record.

    Raises
    ------
    UnsupportedError
        If the file has another extension, or pyarrow is not installed.
    FormatError
        If the file is incomplete, not a record, or of a newer version; the message names the line.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from mdreel.timing.files import read_record
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA").run().timing.save("spans.jsonl", title="RMSD")
    >>> read_record("spans.jsonl").title
    'RMSD'
    """
    path = Path(path)
    header, spans = READERS[_ending(path, READERS)](path)
    timing = Timing(spans, header.crew, header.tasks, header.missed, header.n_requested)
    return Record(timing, header.environment, header.limits, header.title, header.run)


def _ending(path: Path, known: Mapping[str, Any]) -> str:
    """Return the extension of a name if it is known."""
    ending = next((ending for ending in known if path.name.lower().endswith(ending)), None)
    if ending is None:
        found = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        raise UnsupportedError(f"the name {found}; known endings of spans: {', '.join(known)}", path=path)
    if ending == ".parquet" and find_spec("pyarrow") is None:
        raise UnsupportedError("Parquet files need the package pyarrow: pip install 'mdreel[parquet]'", path=path)
    return ending
