"""Counts and lifetimes of hydrogen bonds."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.survival import mean_interval, survival
from mdreel.foundation.arguments import checked_arguments
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray, column_arrays

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe


_log = logging.getLogger("mdreel.analysis")
_log.addHandler(logging.NullHandler())  # prints nothing unless the program configures logging


class BondCounts(Analysis):
    """Base class that counts the hydrogen bonds in ``results.hbonds``, which has one row per bond and frame."""

    u: Universe

    @property
    def interval(self) -> float:
        """Mean time between consecutive analysed frames in ps, or 0 for a single frame."""
        return mean_interval(self.times)

    def count_by_time(self) -> NDArray[np.int64]:
        """Return the number of hydrogen bonds in each frame, shape (n_frames,), int64."""
        return np.bincount(self._places(), minlength=self.n_frames)

    def count_by_type(self) -> NDArray[np.str_]:
        """Return the number of hydrogen bonds for each type of donor and acceptor.

        Returns
        -------
        ndarray, shape (n_types, 3), str
            Residue name and atom type of the donor as ``name:type``, the same for the acceptor, and the number of
            bonds.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> bonds = mdreel.HydrogenBondAnalysis(mda.Universe(PSF, DCD), "name N", "name HN", "name O").run(stop=10)
        >>> bonds.count_by_type().shape[1]
        3
        """
        sides = [self.u.atoms[self.results.hbonds[:, side].astype(np.intp)] for side in (1, 3)]
        names = [np.char.add(np.char.add(_resnames(atoms), ":"), np.asarray(atoms.types, str)) for atoms in sides]
        types, counts = np.unique(np.stack(names, axis=1), axis=0, return_counts=True)
        return np.concatenate([types, counts[:, None].astype(str)], axis=1)

    def count_by_ids(self) -> NDArray[np.int64]:
        """Return the number of frames in which each hydrogen bond occurs.

        Returns
        -------
        ndarray, shape (n_bonds, 4), int64
            Identifiers of donor, hydrogen and acceptor, and the number of frames. The most frequent bonds come first.
            Among equally frequent bonds, those with higher identifiers come first.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> bonds = mdreel.HydrogenBondAnalysis(mda.Universe(PSF, DCD), "name N", "name HN", "name O").run(stop=10)
        >>> int(bonds.count_by_ids()[0, 3])
        9
        """
        ids = np.asarray(self.u.atoms.ids, np.int64)[self.results.hbonds[:, 1:4].astype(np.intp)]
        bonds, counts = np.unique(ids, axis=0, return_counts=True)
        order = np.argsort(counts, kind="stable")[::-1]
        return np.concatenate([bonds, counts[:, None]], axis=1)[order]

    @checked_arguments
    def lifetime(self, tau_max: int = 20, window_step: int = 1, intermittency: int = 0) -> NDArray[np.float64]:
        """Return the survival function of the hydrogen bonds.

        Parameters
        ----------
        tau_max : int
            Longest window, in analysed frames.
        window_step : int
            Number of frames between the starts of consecutive windows.
        intermittency : int
            Largest number of consecutive frames in which a bond may be absent without being considered broken.

        Returns
        -------
        ndarray, shape (2, tau_max + 1), float64
            Lags from 0 to `tau_max` in frames, and the fractions of surviving bonds, starting with 1. A fraction is NaN
            if no window of this length contains a bond.

        Raises
        ------
        MismatchError
            If `tau_max` exceeds the number of frames, or if another number is out of range.

        Notes
        -----
        The function is ``C(tau) = mean_t N(t, t + tau) / N(t)`` [1]_ [2]_. N(t) is the number of bonds in frame t, and
        N(t, t + tau) is the number of bonds in all frames from t to t + tau. A bond is identified by its hydrogen
        and acceptor. If the analysed frames are not consecutive, a warning is sent to the logger ``mdreel.analysis``.
        Run time and memory (about 50 bytes per bond) depend on the number of bonds found, not on the number of pairs.

        References
        ----------
        .. [1] D. C. Rapaport, "Hydrogen bonds in water", Mol. Phys. 50 (1983) 1151-1162.
        .. [2] R. J. Gowers, P. Carbone, "A multiscale approach to model hydrogen bonding: The case of polyamide",
           J. Chem. Phys. 142 (2015) 224907.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> bonds = mdreel.HydrogenBondAnalysis(mda.Universe(PSF, DCD), "name N", "name HN", "name O").run()
        >>> lags, surviving = bonds.lifetime(tau_max=5)
        >>> lags, float(surviving[0])
        (array([0., 1., 2., 3., 4., 5.]), 1.0)
        """
        if "hbonds" not in self.results:
            from mdreel.analysis.topology.missing_data import MissingDataError

            raise MissingDataError("there are no hydrogen bonds yet, the .hbonds attribute is None: call run() first")
        step = int(np.diff(np.sort(self.frames)).min(initial=self.frames.max() + 1))
        if self.n_frames > 1 and step > 1:
            message = "the analysed frames are not consecutive: lags count analysed frames, which are at least"
            _log.warning("%s %d frames of the trajectory apart", message, step)
        places, n_atoms = self._places(), len(self.u.atoms)
        hydrogens, acceptors = self.results.hbonds[:, 2:4].T.astype(np.int64)
        bonds = np.minimum(hydrogens, acceptors) * n_atoms + np.maximum(hydrogens, acceptors)
        return survival(places, bonds, self.n_frames, tau_max, window_step, intermittency)

    def columns(self) -> Sequence[Column]:
        """Return one row per hydrogen bond, with the frame, the indices of its atoms, the distance and the angle."""
        *numbers, distance, angle = self.results.hbonds.T
        names = ("frame", "donor", "hydrogen", "acceptor")
        return [
            *(Column(name, "", values.astype(np.int64)) for name, values in zip(names, numbers, strict=True)),
            Column("distance", "Å", distance),
            Column("angle", "°", angle),
        ]

    def _result_arrays(self) -> list[LabelledArray]:
        return column_arrays(self.columns(), "bond")

    def _key_arrays(self) -> list[LabelledArray]:
        bonds = LabelledArray("bonds in a frame", ("frame",), "", self.count_by_time())
        return [bonds, *column_arrays(self.columns()[-2:], "bond")]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the number of hydrogen bonds over time."""
        from mdreel.results.figure import time_series

        counts = self.count_by_time().astype(np.float64)
        return time_series(self.times, counts, "Hydrogen bonds", title, ax, frames=self.frames)

    @checked_arguments
    def plot_lifetime(
        self,
        tau_max: int = 20,
        window_step: int = 1,
        intermittency: int = 0,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Figure:
        """Plot the survival function of the hydrogen bonds. See `lifetime` and `plot` for the parameters."""
        from mdreel.results.curves import curve
        from mdreel.results.shown_figure import adopt_into_pyplot

        taus, shares = self.lifetime(tau_max, window_step, intermittency)
        known = np.isfinite(shares)
        title = self._describe() if title is None else title
        times = taus[known] * self.interval
        figure = curve(times, shares[known], "Time (ps)", "Hydrogen bonds still there", title, ax)
        if ax is None:
            adopt_into_pyplot(figure)
        return figure

    def _places(self) -> NDArray[np.int64]:
        """Return the index of the analysed frame of each hydrogen bond."""
        frames = self.frames
        order = np.argsort(frames)
        places: NDArray[np.int64] = order[np.searchsorted(frames, self.results.hbonds[:, 0], sorter=order)]
        return places


def _resnames(atoms: AtomGroup) -> NDArray[np.str_]:
    return np.asarray(getattr(atoms, "resnames", ["None"] * len(atoms)), str)
