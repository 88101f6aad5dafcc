"""XTC and TRR readers for MDAnalysis, with mdreel's frame index."""

from functools import partial
from typing import Any

import numpy as np
from MDAnalysis.coordinates import TRR, XTC
from MDAnalysis.coordinates.base import ReaderBase
from MDAnalysis.coordinates.XDR import XDRBaseReader
from MDAnalysis.lib.util import NamedStream, store_init_arguments

from mdreel.errors import UnsupportedError
from mdreel.mdanalysis.read_ahead import ReadAhead
from mdreel.mdanalysis.reader import CoreReader, show_arrays
from mdreel.trajectory.open import open as open_trajectory


class XDRReader(CoreReader, XDRBaseReader):  # type: ignore[misc]
    """Base class of the readers for XTC and TRR.

    Parameters
    ----------
    filename : path
        The trajectory.
    convert_units : bool, default True
        Whether to convert to Å. If False, MDAnalysis reads the file itself.
    sub : array_like, optional
        For each atom of the topology, its index in the file. Other atoms are not decoded.
    refresh_offsets : bool, default False
        This option has no effect, because mdreel checks the frame index against the file whenever it opens the file.
    dt : float, optional
        Time between frames in ps, which replaces the times in the file.
    **kwargs
        General options of MDAnalysis's readers.

    Raises
    ------
    FormatError
        If the file is damaged.
    """

    @store_init_arguments  # type: ignore[untyped-decorator]
    def __init__(
        self,
        filename: Any,
        convert_units: bool = True,
        sub: Any = None,
        refresh_offsets: bool = False,
        dt: float | None = None,
        **kwargs: Any,
    ) -> None:
        ReaderBase.__init__(self, filename, convert_units=convert_units, **kwargs)
        opened = self._opened(sub)
        if opened is None:
            self.__init__(filename, convert_units, sub, refresh_offsets, dt, **kwargs)  # type: ignore[misc]
            return
        opened.warn_of_torn_end()
        self._ahead, self._sub = opened, sub
        self.n_atoms = opened.n_atoms if sub is None else len(sub)
        opened.fetch(range(min(2, opened.n_frames)))
        if opened.n_frames == 1:
            dt = 0
        elif dt is None:
            dt = opened.frame(1).time - opened.frame(0).time
        else:
            self._ts_kwargs["dt"] = dt
        self.ts = self._Timestep(self.n_atoms, **self._ts_kwargs)
        self._show(0, self.ts)
        self.ts.dt = dt

    @property
    def n_frames(self) -> int:
        """Number of frames in the trajectory."""
        assert self._ahead is not None
        return self._ahead.n_frames

    @property
    def _xdr(self) -> Any:
        """MDAnalysis's low-level file object, for code that uses it. It is opened when it is first used."""
        if "_file_of_mdanalysis" not in self.__dict__:
            file = self._file_of_mdanalysis = self._file(self.filename)
            assert len(file) == len(file.offsets)
        return self._file_of_mdanalysis

    def close(self) -> None:
        """Close the file."""
        if self._ahead is not None:
            self._ahead.close()
        file = self.__dict__.pop("_file_of_mdanalysis", None)
        if file is not None:
            file.close()

    def _opened(self, sub: Any) -> ReadAhead | None:
        """Return the open trajectory, or None if this object has become MDAnalysis's own reader instead."""
        if isinstance(self.filename, NamedStream) or not self.convert_units:
            self._give_back("it is not a path, or convert_units is False")
            return None
        opening = partial(open_trajectory, self.filename, format=self.format)
        try:
            atoms = None if sub is None else np.arange(opening().n_atoms)[sub]
            return ReadAhead(opening, atoms, of_vectors=True)
        except UnsupportedError as error:
            self._give_back(str(error))
            return None

    def _reopen(self) -> None:
        assert self._ahead is not None
        if self._ahead.is_closed:
            self._ahead.reopen()
        self.ts.frame = 0
        self._frame = -1

    def _positions(self, numbers: range, atoms: Any, order: Any) -> Any:
        return super()._positions(numbers, atoms, order) if self._sub is None else None

    def _show(self, frame: int, ts: Any) -> Any:
        assert self._ahead is not None
        stored = self._ahead.frame(frame)
        self._frame = ts.frame = frame
        dt = self._kwargs["dt"]
        ts.time = stored.time if dt is None else frame * dt
        ts.data["step"] = stored.step
        ts.dimensions = stored.dimensions
        show_arrays(stored, ts)
        return ts


class XTCReader(XDRReader, XTC.XTCReader):  # type: ignore[misc]
    """XTC reader that reads frames with the core; see `XDRReader`."""

    original = XTC.XTCReader


class TRRReader(XDRReader, TRR.TRRReader):  # type: ignore[misc]
    """TRR reader that reads frames with the core; see `XDRReader`."""

    original = TRR.TRRReader

    def _show(self, frame: int, ts: Any) -> Any:
        assert self._ahead is not None
        super()._show(frame, ts)
        ts.data["lambda"] = self._ahead.frame(frame).lambda_
        return ts
