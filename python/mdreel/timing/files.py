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
"""By ending: of spans themselves, and of what viewers read."""

READERS: Mapping[str, Callable[[Path], tuple[Header, NDArray[void]]]] = {
    ".jsonl": jsonl.read,
    ".parquet": parquet.read,
}


def check_record_file(path: Path, force: bool = False) -> None:
    """Check, before the work begins, that a record can be written to `path` at its end.

    Parameters
    ----------
    path : Path
        Where the record shall be; its ending says the format.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    UnsupportedError
        If the ending is unknown, or its format needs a package that is not installed.
    OSError
        If the file exists (and `force` is false), or its directory does not or cannot be written to.
    """
    _ending(path, WRITERS)
    check_target(path, force)


def write_record(record: Record, path: str | PathLike[str], force: bool = False) -> None:
    """Write a record; `path` is complete afterwards, or untouched.

    Parameters
    ----------
    record : Record
        The record.
    path : path
        Where. ``.jsonl`` and ``.parquet`` keep all of it; ``.trace.json`` (Perfetto), ``.otlp.json`` (OpenTelemetry)
        and ``.cali.json`` (Hatchet) what viewers show.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    UnsupportedError, OSError
        As `check_record_file`, or if the disk is full; nothing is left behind.
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
        A file that `write_record` has written, ``.jsonl`` or ``.parquet``.

    Returns
    -------
    Record
        The record.

    Raises
    ------
    UnsupportedError
        If it has another ending, or pyarrow is not installed.
    FormatError
        If it is not whole, of something else, or of a newer version; the message names the line.
    OSError
        If it cannot be read.
    """
    path = Path(path)
    header, spans = READERS[_ending(path, READERS)](path)
    return Record(Timing(spans, header.crew, header.tasks), header.environment, header.limits, header.title)


def _ending(path: Path, known: Mapping[str, Any]) -> str:
    """Return the ending of a name, which is one of those that are known."""
    ending = next((ending for ending in known if path.name.lower().endswith(ending)), None)
    if ending is None:
        found = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        raise UnsupportedError(f"{path}: the name {found}; known endings of spans: {', '.join(known)}")
    if ending == ".parquet" and find_spec("pyarrow") is None:
        raise UnsupportedError(f"{path}: Parquet files need the package pyarrow: pip install 'mdreel[parquet]'")
    return ending
