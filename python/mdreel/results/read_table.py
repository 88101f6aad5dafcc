"""Reading of result tables from files, with the units of their columns."""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import FormatError, UnsupportedError
from mdreel.results.column import SPELLED_OUT, Column, unique_names

_UNITS = {**{text: unit for unit, text in SPELLED_OUT.items()}, **{unit: unit for unit in ("nm", "ps", "ns", "us")}}
_HEADING = re.compile(rf"(?P<name>.+)_(?P<unit>{'|'.join(sorted(map(re.escape, _UNITS), key=len, reverse=True))})$")
_LABEL = re.compile(r"(?P<name>[^(]*?)\s*(?:\((?P<unit>[^)]*)\))?$")
_XVG = re.compile(r'@\s*(?P<what>xaxis\s+label|yaxis\s+label|s\d+\s+legend)\s+"(?P<text>.*)"')


def read_table(path: Path) -> list[Column]:
    """Read a table that mdreel wrote, or a GROMACS XVG file.

    Parameters
    ----------
    path : Path
        The file. The file extension determines the format: ``.csv .json .npz .parquet .xvg``.

    Returns
    -------
    list of Column
        The numerical columns, as float64. Text columns are omitted. A heading such as ``rmsd_angstrom`` is split into
        the name ``rmsd`` and the unit.

    Raises
    ------
    UnsupportedError
        If the file extension is unknown.
    FormatError
        If the file does not contain a table of numbers.
    OSError
        If the file cannot be read.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UnsupportedError(f"known endings of tables to read: {', '.join(_READERS)}", path=path)
    try:
        given = list(reader(path))
    except (ValueError, KeyError, TypeError, StopIteration, RuntimeError) as error:
        raise FormatError(f"not a table: {' '.join(str(error).split()) or type(error).__name__}", path=path) from error
    names = unique_names([name for name, _, _ in given])
    found = [Column(name, unit, values) for name, (_, unit, values) in zip(names, given, strict=True)]
    if not found or not all(len(one.values) == len(found[0].values) > 0 for one in found):
        raise FormatError("not a table: it has no columns of numbers, or columns of different lengths", path=path)
    return found


Read = Iterator[tuple[str, str, NDArray[np.float64]]]


def _csv(path: Path) -> Read:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("its rows have different numbers of columns")
    for heading, *values in zip(*rows, strict=True):
        match = _HEADING.match(heading)
        numbers = _numbers(values)
        if numbers is not None:
            yield (heading, "", numbers) if match is None else (match["name"], _UNITS[match["unit"]], numbers)


def _json(path: Path) -> Read:
    table = json.loads(path.read_text(encoding="utf-8"))
    yield from _named(table["columns"], table["units"])


def _npz(path: Path) -> Read:
    with np.load(path, allow_pickle=False) as archive:
        units = json.loads(str(archive["metadata"]))["units"]
        yield from _named({name: archive[name] for name in units}, units)


def _parquet(path: Path) -> Read:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    units = {one.name: (one.metadata or {}).get(b"unit", b"").decode() for one in table.schema}
    yield from _named({name: table[name].to_numpy() for name in units}, units)


def _xvg(path: Path) -> Read:
    labels: dict[str, str] = {}
    rows: list[list[str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := _XVG.match(line):
            labels["".join(match["what"].split())] = match["text"]
        elif line.strip() and line[0] not in "#@&":
            rows.append(line.split())
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("its rows have different numbers of columns")
    values = np.array(rows, np.float64).T
    legends = [labels.get(f"s{number}legend", f"column {number + 1}") for number in range(len(values) - 1)]
    if len(legends) == 1 and "s0legend" not in labels:
        legends = [labels.get("yaxislabel", legends[0])]
    for label, column in zip([labels.get("xaxislabel", "x"), *legends], values, strict=True):
        match = _LABEL.match(label)
        name, unit = (label, "") if match is None else (match["name"], match["unit"] or "")
        yield name.lower().replace(" ", "_"), _UNITS.get(unit, unit), column


def _named(columns: Mapping[str, Any], units: Mapping[str, str]) -> Read:
    for name, values in columns.items():
        numbers = _numbers(values)
        if numbers is not None:
            yield name, units.get(name, ""), numbers


def _numbers(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return values as numbers, or None if they are strings."""
    try:
        return np.array([np.nan if one is None else one for one in values], np.float64)
    except ValueError:
        return None


_READERS: Mapping[str, Callable[[Path], Read]] = {
    ".csv": _csv,
    ".json": _json,
    ".npz": _npz,
    ".parquet": _parquet,
    ".xvg": _xvg,
}
