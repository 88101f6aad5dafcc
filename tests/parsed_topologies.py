"""Topologies and single frames of MDAnalysisTests. A process reads each of them only once.

Of the topology with 47,681 atoms, MDAnalysis parses the TPR file twice in 0.6 s, reads the GRO file in 0.2 s and finds
the fragments in 0.4 s. Copies of what was read take 0.02 s, and the fragments 0.1 s; a thousand tests begin with one of
these files. `tests/foundation/test_parsed_topologies.py` compares the copies with what MDAnalysis reads.
"""

import warnings
from collections import namedtuple
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import MDAnalysis.core.universe
import numpy as np
from MDAnalysis import Universe
from MDAnalysis.coordinates.base import SingleFrameReaderBase
from MDAnalysis.coordinates.GRO import GROReader
from MDAnalysis.coordinates.timestep import Timestep
from MDAnalysis.coordinates.TPR import TPRReader
from MDAnalysis.core.groups import AtomGroup
from MDAnalysis.lib._cutil import find_fragments
from MDAnalysis.lib.util import cached
from MDAnalysisTests import datafiles

DATA = str(Path(datafiles.__file__).parent)
COPIED = {file.stat().st_size: file for file in map(Path, (datafiles.GRO, datafiles.PSF, datafiles.TPR))}
"""Files that tests copy under other names, by their sizes."""
Key = tuple[object, ...]
parse: Callable[..., Any] = MDAnalysis.core.universe._topology_from_file_like
READERS = {reader: reader._read_first_frame for reader in (GROReader, TPRReader)}
find_all: Callable[[Universe], dict[int, Any]] = Universe._fragdict.fget
_read: dict[Key, tuple[Any, list[warnings.WarningMessage]]] = {}
_Fragment = namedtuple("fraginfo", "ix, fragment")  # noqa: PYI024 (as in MDAnalysis)


def parse_once() -> None:
    """Have MDAnalysis read each of its topologies and single frames once, and find fragments without `Atom` objects."""
    MDAnalysis.core.universe._topology_from_file_like = _parse_once
    for reader, read in READERS.items():
        reader._read_first_frame = _reading_once(read)
    Universe._fragdict = property(cached("fragments")(fragments_of))


def fragments_of(universe: Universe) -> dict[int, Any]:
    """Return the index and the group of the fragment of each atom, in the order in which MDAnalysis returns them."""
    topology = universe._topology
    if not hasattr(topology, "bonds") or not topology.bonds.values:
        return find_all(universe)
    bonds = np.asarray(topology.bonds.values, np.int32)
    fragments: dict[int, Any] = {}
    for number, atoms in enumerate(find_fragments(universe.atoms.ix, bonds)):
        group = AtomGroup(np.sort(atoms), universe)
        fragments.update(zip(group.ix.tolist(), repeat(_Fragment(number, group))))
    return fragments


def _parse_once(file: Any, topology_format: Any = None, **settings: Any) -> Any:
    """Parse a file, or copy what was parsed; warn as the parser does."""
    original = _original(file)
    if original is None:
        return parse(file, topology_format, **settings)
    key = (original, topology_format, repr(settings))
    return _once(key, lambda: parse(file, topology_format, **settings)).copy()


def _reading_once(read: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a method that reads the frame of a file, or copies what was read, and warns as the reader does."""

    def read_first_frame(reader: SingleFrameReaderBase) -> None:
        original = _original(reader.filename)
        if original is None:
            read(reader)
            return

        def frame() -> Timestep:
            read(reader)
            return reader.ts

        key = (type(reader), original, reader.convert_units, repr(reader._ts_kwargs))
        reader.ts = _once(key, frame).copy()
        reader.n_atoms = reader.ts.n_atoms

    return read_first_frame


def _original(file: Any) -> str | None:
    """Return the path of a file of MDAnalysisTests, also for a copy of it; None for other files."""
    if not isinstance(file, str | Path):
        return None
    if str(file).startswith(DATA):
        return str(file)
    try:
        original = COPIED.get(Path(file).stat().st_size)
        if original is None or original.suffix != Path(file).suffix:
            return None
        return str(original) if Path(file).read_bytes() == original.read_bytes() else None
    except OSError:
        return None


def _once(key: Key, read: Callable[[], Any]) -> Any:
    """Return what was read for a key, with the warnings of the first time."""
    if key not in _read:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _read[key] = read(), caught
    found, caught = _read[key]
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return found
