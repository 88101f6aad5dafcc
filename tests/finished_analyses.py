"""Every analysis, run once on a short trajectory of the peptide, and tables read from files."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from every_analysis import CASES
from peptide_system import System, peptide

N_FRAMES = 12


@cache
def finished(name: str, trajectory: Path) -> Any:
    """Return an analysis after its run."""
    return CASES[name].make(System(peptide(), trajectory)).run()


def read_table(path: Path) -> dict[str, list[Any]]:
    """Read the columns of a file by name; those of XVG files by number, as they have no frames and no text."""
    return _READERS[path.suffix](path)  # type: ignore[no-any-return]


def _read_csv(path: Path) -> dict[str, list[Any]]:
    head, *rows = (line.split(",") for line in path.read_text("utf-8").splitlines())
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


def _read_xvg(path: Path) -> dict[str, list[Any]]:
    rows = [line.split() for line in path.read_text("utf-8").splitlines() if line[0] not in "#@"]
    return {str(number): list(values) for number, values in enumerate(zip(*rows, strict=True))}


def _read_npz(path: Path) -> dict[str, list[Any]]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name].tolist() for name in file.files if name != "metadata"}


def _read_parquet(path: Path) -> Any:
    from pyarrow import parquet

    return parquet.read_table(path).to_pydict()


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))["columns"]


def _read_netcdf(path: Path) -> dict[str, list[Any]]:
    from scipy.io import netcdf_file

    with netcdf_file(path, mmap=False) as file:
        variables = {name: one[:] for name, one in file.variables.items()}
    return {
        name: [b"".join(row).rstrip(b"\0").decode() for row in values] if values.dtype == "S1" else values.tolist()
        for name, values in variables.items()
    }


def _read_xlsx(path: Path) -> dict[str, list[Any]]:
    import openpyxl

    head, *rows = openpyxl.load_workbook(path)["results"].iter_rows(values_only=True)
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


_READERS: Any = {
    ".csv": _read_csv,
    ".xvg": _read_xvg,
    ".npz": _read_npz,
    ".parquet": _read_parquet,
    ".json": _read_json,
    ".nc": _read_netcdf,
    ".xlsx": _read_xlsx,
}
