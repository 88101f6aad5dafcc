"""Trajectories that are read frame by frame with MDAnalysis."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, Source, foreign_source
from mdreel.errors import FormatError, UnsupportedError
from mdreel.trajectory.placeholder_cell import known_cell

Frame = tuple[list[NDArray[np.float32] | None], NDArray[np.float32] | None, float, int]


class ForeignReader:
    """MDAnalysis reader for one worker.

    Parameters
    ----------
    reader : MDAnalysis.coordinates.base.ReaderBase
        A reader that is not used by any other worker.
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def expect(self, frames: FrameSet) -> None:
        """Ignore the announced frames, because MDAnalysis reads frames one by one."""

    def frame(self, number: int) -> Frame:
        """Read a frame.

        Parameters
        ----------
        number : int
            Number of the frame, starting from 0.

        Returns
        -------
        arrays : list
            Positions (in Å), velocities (in Å/ps) and forces (in kJ/(mol Å)). Each is None or a float32 array of shape
            (n_atoms, 3).
        cell : numpy.ndarray, shape (6,), float32, or None
            Lengths in Å and angles in degrees, or None if there is no cell or only a placeholder.
        time : float
            Time in ps.
        step : int
            Integration step, or the frame number if the file contains no steps.
        """
        ts = self._reader[number]
        arrays = [
            np.ascontiguousarray(getattr(ts, name), np.float32) if getattr(ts, f"has_{name}") else None
            for name in ("positions", "velocities", "forces")
        ]
        step = ts.data.get("step", number)
        return arrays, known_cell(ts.dimensions), float(ts.time), int(step)


@dataclass(frozen=True)
class ForeignTrajectory:
    """Trajectory that is read with MDAnalysis. Each worker opens its own copy.

    Attributes
    ----------
    pickled : bytes
        Pickled MDAnalysis reader, which opens the file when it is unpickled.
    """

    pickled: bytes

    def open(self) -> ForeignReader:
        """Open the file again.

        Returns
        -------
        ForeignReader
            A new reader.
        """
        return ForeignReader(pickle.loads(self.pickled))  # noqa: S301 (our own pickle)

    def times(self) -> list[float]:
        """Return the times of all frames. This method reads all frames.

        Returns
        -------
        list of float
            Time of each frame in ps.
        """
        return [float(ts.time) for ts in pickle.loads(self.pickled)]  # noqa: S301 (our own pickle)


def open_foreign(path: str, format: str, n_atoms: int | None = None) -> Source:  # noqa: A002 (MDAnalysis's word)
    """Open a file with an MDAnalysis reader.

    Parameters
    ----------
    path : str
        The file.
    format : str
        Name of the format in MDAnalysis.
    n_atoms : int, optional
        Number of atoms, which is required for formats that do not store it.

    Returns
    -------
    Source
        The trajectory.

    Raises
    ------
    FormatError
        If MDAnalysis cannot read the file.
    UnsupportedError
        If MDAnalysis does not support the format, or if the format requires ``n_atoms``.
    """
    from MDAnalysis.coordinates.core import get_reader_for

    with Path(path).open("rb"):  # errors of the operating system keep their type
        pass
    try:
        reader_class = get_reader_for(path, format)
    except (ValueError, TypeError) as error:
        raise UnsupportedError(
            f"unknown trajectory format {format!r}; known: those of the core and of MDAnalysis"
        ) from error
    options = {} if n_atoms is None else {"n_atoms": n_atoms}
    with _reading(path, n_atoms):
        reader = reader_class(path, **options)
    with reader:
        return source_of_reader(reader, (open_foreign, (path, format, n_atoms)))


@contextmanager
def _reading(path: str, n_atoms: int | None) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if n_atoms is None and "n_atoms" in str(error):
            raise UnsupportedError("this format needs the number of atoms: give n_atoms=", path=path) from error
        raise FormatError(f"MDAnalysis cannot read the file: {type(error).__name__}: {error}", path=path) from error


def source_of_reader(reader: Any, recipe: tuple[Any, Any] | None = None) -> Source:
    """Return a source that reads frames with copies of an MDAnalysis reader.

    Parameters
    ----------
    reader : MDAnalysis.coordinates.base.ReaderBase
        The reader, which is not modified.
    recipe : tuple, optional
        Function and arguments that recreate the source. By default, it is recreated from a pickle of the reader.

    Returns
    -------
    Source
        The trajectory. Reading is as slow as with MDAnalysis, because workers have to wait for each other.

    Raises
    ------
    UnsupportedError
        If the reader cannot be copied.
    """
    try:
        pickled = pickle.dumps(reader)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        message = f"{reader.filename}: MDAnalysis's reader of {reader.format} cannot be copied: {error}"
        raise UnsupportedError(message) from error
    return _from_pickle(pickled, recipe)


def _from_pickle(pickled: bytes, recipe: tuple[Any, Any] | None = None) -> Source:
    reader = pickle.loads(pickled)  # noqa: S301 (our own pickle)
    with reader:
        path = Path(str(reader.filename))
        name = reader.format if isinstance(reader.format, str) else reader.format[0]
        size = path.stat().st_size if path.is_file() else 0
        has = [name for name in ("positions", "velocities", "forces") if getattr(reader.ts, f"has_{name}")]
        facts = {"format": name, "path": path, "size": size, "read by": f"MDAnalysis ({type(reader).__name__})"}
        n_atoms, n_frames = int(reader.n_atoms), int(reader.n_frames)
    own = recipe or (_from_pickle, (pickled,))
    return foreign_source(ForeignTrajectory(pickled), path, n_atoms, n_frames, size, has, facts, own)
