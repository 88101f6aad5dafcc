"""Files that store run records in several formats."""

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
"""Writers by file extension, for complete records and for viewers."""

READERS: Mapping[str, Callable[[Path], tuple[Header, NDArray[void]]]] = {
    ".jsonl": jsonl.read,
    ".parquet": parquet.read,
}


def check_record_file(path: Path, force: bool = False) -> None:
    """Before a run, check that its record can be written to `path`.

    Parameters
    ----------
    path : Path
        The output file. Its extension determines the format.
    force : bool
        Whether to replace an existing file.

    Raises
    ------
    UnsupportedError
        If the extension is unknown, or if the format requires a package that is not installed.
    OSError
        If the file exists and `force` is false, or if its directory does not exist or is not writable.
    """
    _ending(path, WRITERS)
    check_target(path, force)


def write_record(record: Record, path: str | PathLike[str], force: bool = False) -> None:
    """Write a record to a file. If an error occurs, an existing file is not modified.

    Parameters
    ----------
    record : Record
        The record.
    path : path
        The output file. Files with the extensions ``.jsonl`` and ``.parquet`` contain the complete record, whereas
        ``.trace.json`` (Perfetto), ``.otlp.json`` (OpenTelemetry) and ``.cali.json`` (Hatchet) contain data for
        viewers.
    force : bool
        Whether to replace an existing file.

    Raises
    ------
    UnsupportedError, OSError
        See `check_record_file`. Also raised if the disk is full. No partial file is left behind.

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
        File that was written by `write_record`, with the extension ``.jsonl`` or ``.parquet``.

    Returns
    -------
    Record
        The record.

    Raises
    ------
    UnsupportedError
        If the file has a different extension, or if pyarrow is required but not installed.
    FormatError
        If the file is incomplete, is not a record, or was written by a newer version. The message contains the line
        number.
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
    """Return the extension of a file name if it is known."""
    ending = next((ending for ending in known if path.name.lower().endswith(ending)), None)
    if ending is None:
        found = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        raise UnsupportedError(f"the name {found}; known endings of spans: {', '.join(known)}", path=path)
    if ending == ".parquet" and find_spec("pyarrow") is None:
        raise UnsupportedError("Parquet files need the package pyarrow: pip install 'mdreel[parquet]'", path=path)
    return ending
