"""Selections that are evaluated in each frame."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, selected
from mdreel.analysis.hydration.changing_selection import ChangingSelection, Compound
from mdreel.analysis.survival import stays, survival
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments, checked_arguments_but
from mdreel.results.column import Column
from mdreel.results.series import series_columns
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class Selection(ChangingSelection):
    """Evaluate a selection over a trajectory, and determine how long atoms remain selected.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup, UpdatingAtomGroup or Universe
        The atoms to which `select` is applied. If you do not pass `select`, this must be a group created with
        ``updating=True``.
    select : str, optional
        Selection in MDAnalysis's selection language, which will be evaluated in each frame. Distances use the minimum
        image convention. If you want to ignore periodic images, create a group with ``updating=True, periodic=False``
        instead.
    ids : bool
        Whether to keep the indices of the selected atoms in addition to their number.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.counts : ndarray, shape (n_frames,), int64
        Number of selected atoms in each frame.
    results.ids : ndarray, shape (n_selected,), uint32
        Universe indices of the selected atoms in all frames, one frame after the other, in ascending order within a
        frame. Only available with ``ids=True``.
    results.offsets : ndarray, shape (n_frames + 1,), int64
        Offsets into `results.ids`: the atoms in frame ``i`` are ``ids[offsets[i]:offsets[i + 1]]``. Only available with
        ``ids=True``.

    Raises
    ------
    SelectionError
        If your selection is invalid, or can never select any atom.
    UnsupportedError
        If your selection contains a keyword that cannot be evaluated in each frame.

    Warns
    -----
    MdreelWarning
        If no atom is selected in any frame.

    Notes
    -----
    The selection is parsed by MDAnalysis, and then evaluated in each frame using compiled code that only reads the
    atoms whose positions are needed. The selected atoms are always the same as for an UpdatingAtomGroup, unless a
    distance equals a cutoff to within single precision.

    You will need 24 bytes of memory per frame. With ``ids=True``, each selected atom takes another 4 bytes in every
    frame.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> shell = mdreel.Selection(mda.Universe(TPR, XTC), "name OW and around 3.5 protein").run(stop=3)
    >>> shell.results.counts.shape
    (3,)
    >>> bool((shell.atoms_in(0).names == "OW").all())
    True
    """

    _units = MappingProxyType({"counts": ""})
    _result_dimensions = MappingProxyType({"counts": ("frame",), "ids": ("selected",), "offsets": ("edge",)})

    @checked_arguments_but("select")
    def __init__(
        self,
        atomgroup: Atoms,
        select: str | None = None,
        ids: bool = True,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(atomgroup, select, trajectory, verbose)
        self._keeps_ids = bool(ids)

    def computation(self, source: Source) -> Computation:
        """Return the computation that evaluates the selection in each frame."""
        return selected(self._changing.among(self.atoms), self._keeps_ids)

    def conclude(self, tally: Tally) -> None:
        """Store counts and indices."""
        self.results.counts = tally.values[:, 0].astype(np.int64)
        self._warn_of_no_atoms(self.results.counts)
        if self._keeps_ids:
            self.results.ids = np.empty(0, np.uint32) if tally.own is None else tally.own
            self.results.offsets = np.concatenate([[0], np.cumsum(self.results.counts)])

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time and the number of selected atoms."""
        return [*series_columns(self.frames, self.times), Column("selected", "", self.results.counts)]

    @checked_arguments
    def atoms_in(self, i: int) -> AtomGroup:
        """Return the atoms that are selected in an analysed frame.

        Parameters
        ----------
        i : int
            Number of the analysed frame, starting from 0.

        Returns
        -------
        MDAnalysis.AtomGroup
            The atoms, as a group that does not change.

        Raises
        ------
        MismatchError
            If this frame was not analysed, or the indices were not kept.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import TPR, XTC
        >>> shell = mdreel.Selection(mda.Universe(TPR, XTC), "name OW and around 3.5 protein").run(stop=3)
        >>> bool((shell.atoms_in(0).names == "OW").all())
        True
        """
        places = range(len(self._kept()))
        try:
            places[i]
        except (TypeError, IndexError):
            raise MismatchError(f"frame {i!r} was not analysed: give a number below {len(places):,}") from None
        first, end = self.results.offsets[places[i]], self.results.offsets[places[i] + 1]
        return self._atomgroup.universe.atoms[self.results.ids[first:end].astype(np.intp)]

    @checked_arguments
    def survival(
        self, tau_max: int = 20, window_step: int = 1, intermittency: int = 0, compound: Compound = "atoms"
    ) -> NDArray[np.float64]:
        """Return the probability that a selected atom or residue remains selected, as a function of the lag.

        Parameters
        ----------
        tau_max : int
            Longest window, in analysed frames.
        window_step : int
            Number of frames between the starts of consecutive windows.
        intermittency : int
            Largest number of consecutive frames in which an atom may be absent and still be considered present.
        compound : {"atoms", "residues"}
            Whether to consider single atoms or residues, which are present if one of their atoms is selected.

        Returns
        -------
        ndarray, shape (2, tau_max + 1), float64
            Lags from 0 to `tau_max` in frames, and the surviving fractions. If no window of this length contains an
            atom, the fraction is NaN.

        Raises
        ------
        MismatchError
            When `tau_max` is larger than the number of frames, a number is out of range, or the indices were not kept.

        Notes
        -----
        The function is ``P(tau) = mean_t N(t, t + tau) / N(t)``. Here, N(t) is the number of selected atoms in frame t.
        N(t, t + tau) is the number of atoms selected in all frames from t to t + tau.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import TPR, XTC
        >>> shell = mdreel.Selection(mda.Universe(TPR, XTC), "name OW and around 3.5 protein").run(stop=5)
        >>> lags, surviving = shell.survival(tau_max=4)
        >>> float(surviving[0])
        1.0
        """
        places, members = self._presence(self._kept(), self.results.ids, compound)
        return survival(places, members, self.n_frames, tau_max, window_step, intermittency)

    @checked_arguments
    def residence_times(self, intermittency: int = 0, compound: Compound = "atoms") -> NDArray[np.int64]:
        """Return each uninterrupted stay of an atom or residue in the selection, with its first frame and its length.

        Parameters
        ----------
        intermittency : int
            Largest number of consecutive frames in which an atom may be absent and still be considered present.
        compound : {"atoms", "residues"}
            Whether to consider single atoms or residues, which are present if one of their atoms is selected.

        Returns
        -------
        ndarray, shape (n_stays, 3), int64
            Universe index of the atom or residue, number of the first analysed frame of the stay, and number of frames,
            sorted by index and then by time. Note that a stay may have been longer if it includes the first or the last
            frame.

        Raises
        ------
        MismatchError
            If `intermittency` is negative, or the indices were not kept.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import TPR, XTC
        >>> shell = mdreel.Selection(mda.Universe(TPR, XTC), "name OW and around 3.5 protein").run(stop=5)
        >>> shell.residence_times().shape[1]
        3
        """
        if intermittency < 0:
            raise MismatchError(f"intermittency must be 0 or more frames, not {intermittency}")
        places, members = self._presence(self._kept(), self.results.ids, compound)
        return stays(places, members, self.n_frames, intermittency)

    @checked_arguments
    def plot_survival(
        self,
        tau_max: int = 20,
        window_step: int = 1,
        intermittency: int = 0,
        compound: Compound = "atoms",
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Figure:
        """Plot the survival probability.

        Parameters
        ----------
        tau_max, window_step, intermittency, compound
            See `survival`.
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is created.
        title : str, optional
            Title of the figure.

        Returns
        -------
        matplotlib.figure.Figure
            The figure. See `plot`.
        """
        from mdreel.results.curves import curve

        taus, shares = self.survival(tau_max, window_step, intermittency, compound)
        known = np.isfinite(shares)
        title = self._describe() if title is None else title
        return curve(taus[known] * self.interval, shares[known], "Time (ps)", "Share still selected", title, ax)

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the number of selected atoms over time."""
        from mdreel.results.figure import time_series

        counts = self.results.counts.astype(np.float64)
        return time_series(self.times, counts, "Selected atoms", title, ax, frames=self.frames)

    def _kept(self) -> NDArray[np.int64]:
        """Return the number of selected atoms in each frame, if their indices were kept."""
        self._done()
        if not self._keeps_ids:
            raise MismatchError("the indices of the selected atoms were not kept: create the analysis with ids=True")
        counts: NDArray[np.int64] = self.results.counts
        return counts
