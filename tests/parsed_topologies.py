"""Topologies of the files of MDAnalysisTests, of which each is parsed once in a process.

Parsing GRO takes 0.5 s, PSF 0.1 s and a copy of what was parsed 0.02 s; a thousand tests begin with one of them.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import MDAnalysis.core.universe
from MDAnalysisTests import datafiles

DATA = str(Path(datafiles.__file__).parent)
parse: Callable[..., Any] = MDAnalysis.core.universe._topology_from_file_like
_parsed: dict[tuple[object, ...], tuple[Any, list[warnings.WarningMessage]]] = {}


def parse_once() -> None:
    """Have MDAnalysis parse each of its files once."""
    MDAnalysis.core.universe._topology_from_file_like = _parse_once


def _parse_once(file: Any, topology_format: Any = None, **settings: Any) -> Any:
    """Parse a file, or copy what was parsed; warn as the parser does."""
    if not isinstance(file, str | Path) or not str(file).startswith(DATA):
        return parse(file, topology_format, **settings)
    key = (str(file), topology_format, repr(settings))
    if key not in _parsed:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _parsed[key] = parse(file, topology_format, **settings), caught
    topology, caught = _parsed[key]
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return topology.copy()
