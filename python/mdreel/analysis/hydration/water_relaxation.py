"""Orientational relaxation of water molecules."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, selected_vectors
from mdreel.analysis.hydration.changing_selection import ChangingSelection
from mdreel.analysis.hydration.decay_time import DecayMethod, decay_time
from mdreel.analysis.hydration.orientation import orientational_correlation
from mdreel.analysis.hydration.water_molecules import given_molecules, water_molecules
from mdreel.analysis.survival import mean_interval
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments, checked_arguments_but
from mdreel.results.column import Column
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, members_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WaterVector = Literal["oh", "hh", "dipole"]
"""Vector of a water molecule."""

WATER_VECTORS: tuple[WaterVector, ...] = ("oh", "hh", "dipole")
"""All vectors."""

_WIDTH = 7  # number of the molecule, and two vectors


class WaterOrientationalRelaxation(ChangingSelection):
    """Compute the orientational correlation functions of water molecules in a shell.

    Parameters
    ----------
    universe, trajectory, verbose
        The atoms and the trajectory. See `atomgroup`, `trajectory` and `verbose` of `mdreel.Selection`.
    select : str, optional
        Selection of water molecules, such as ``"name OW and around 3.5 protein"``, which will be evaluated in each
        frame. A molecule is in the shell if its oxygen is selected. Other atoms are ignored.
    tau_max : int
        Longest lag, in analysed frames. This parameter is called `dtmax` in waterdynamics.
    order : {1, 2}
        Order of the Legendre polynomial.
    window_step : int or None
        Number of frames between the starts of consecutive windows. If this is None, consecutive windows of the same
        length do not overlap, as in waterdynamics.
    molecules : array_like, shape (n_molecules, 3), int, optional
        Universe indices of the oxygen and of both hydrogens of each molecule. By default, we look for the hydrogens in
        the residue of a selected oxygen.

    Attributes
    ----------
    results.tau_timeseries : ndarray, shape (tau_max + 1,), int64
        Lags from 0 to `tau_max` in frames.
    results.lag_times : ndarray, shape (tau_max + 1,), float64
        Lags in ps, based on the mean time between analysed frames.
    results.oh, results.hh, results.dipole : ndarray, shape (tau_max + 1,), float64
        Correlation functions of the vector from the oxygen to the first hydrogen, of the vector between the hydrogens,
        and of the dipole. They are NaN for a lag if no window of this length contains a molecule.
    results.n_pairs : ndarray, shape (tau_max + 1,), int64
        Number of pairs of frames and molecules that contribute.
    results.counts : ndarray, shape (n_frames,), int64
        Number of selected molecules in each frame.

    Raises
    ------
    SelectionError
        When your selection is invalid, or contains oxygen atoms of other molecules than water.
    UnsupportedError
        When your selection contains a keyword that cannot be evaluated in each frame.
    MismatchError
        When a number is out of range, or `molecules` is not a valid array. In `run`, when `tau_max` is not less than
        the number of frames.

    Warns
    -----
    MdreelWarning
        If no atom is selected in any frame.

    Notes
    -----
    The functions are ``C_l(tau) = mean_t mean_i P_l(u_i(t) . u_i(t + tau))`` with the Legendre polynomial P_l [1]_. The
    inner mean includes all molecules i that are selected in both frame t and frame t + tau, whether or not they leave
    the shell in between. The outer mean includes all windows that contain such molecules. This is the definition of
    `waterdynamics.WaterOrientationalRelaxation`. However, that class leaves out the last window for some lags, counts
    windows without molecules as 0, and does not compute lag 0. In frames that have a cell, vectors are based on minimum
    images. They are stored as float32. The results are bitwise identical for every executor and number of workers.

    You will need 28 bytes of memory for each molecule that is selected in a frame (about 150 bytes while the functions
    are computed), and 24 bytes per frame.

    References
    ----------
    .. [1] Y.-L. Yeh, C.-Y. Mou, "Orientational relaxation dynamics of liquid water studied by molecular dynamics
       simulation", J. Phys. Chem. B 103 (1999) 3699-3705.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from mdreel.analysis import WaterOrientationalRelaxation
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> universe = mda.Universe(TPR, XTC)
    >>> turning = WaterOrientationalRelaxation(universe, "name OW and around 3.5 protein", tau_max=3).run()
    >>> turning.results.dipole.shape
    (4,)
    """

    _units = MappingProxyType({"lag_times": "ps", **dict.fromkeys(("tau_timeseries", *WATER_VECTORS, "n_pairs"), "")})
    _result_dimensions = MappingProxyType(
        {**dict.fromkeys(("tau_timeseries", "lag_times", *WATER_VECTORS, "n_pairs"), ("lag",)), "counts": ("frame",)}
    )

    @checked_arguments_but("select")
    def __init__(
        self,
        universe: Atoms,
        select: str | None = None,
        tau_max: int = 20,
        order: Literal[1, 2] = 2,
        window_step: int | None = 1,
        *,
        molecules: ArrayLike | None = None,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(universe, select, trajectory, verbose)
        if tau_max < 1 or (window_step is not None and window_step < 1):
            raise MismatchError(f"tau_max and window_step must be 1 or more frames, not {tau_max} and {window_step}")
        if order not in (1, 2):
            raise MismatchError(f"order must be 1 or 2, not {order!r}")
        self._tau_max, self._order, self._window_step = tau_max, order, window_step
        possible = self.atomgroup.universe.atoms[self._changing.possible]
        found = water_molecules(possible) if molecules is None else given_molecules(possible, molecules)
        self._oxygens, self._hydrogens = found

    @property
    def atoms(self) -> NDArray[np.uint32]:
        """Indices of the atoms of the molecules and of the atoms that the selection needs, in ascending order."""
        found = np.concatenate([self._changing.needed, self._oxygens, self._hydrogens.ravel()])
        return np.unique(found).astype(np.uint32)

    def computation(self, source: Source) -> Computation:
        """Return the computation that keeps the vectors of the selected molecules of each frame."""
        atoms = self.atoms
        places, others = (np.searchsorted(atoms, one).astype(np.uint32) for one in (self._oxygens, self._hydrogens))
        group = members_of(places, self._changing, atoms, self._oxygens)
        return selected_vectors(len(atoms), group, others)

    def conclude(self, tally: Tally) -> None:
        """Compute the correlation functions from the vectors."""
        counts = tally.values[:, 0].astype(np.int64)
        self._warn_of_no_atoms(counts)
        if self._tau_max >= len(counts):
            message = f"tau_max must be less than {len(counts):,}, the number of frames"
            raise MismatchError(f"{message}, not {self._tau_max:,}: lower it, or analyse more frames")
        numbers = np.empty((0, _WIDTH), np.uint32) if tally.own is None else tally.own.reshape(-1, _WIDTH)
        vectors = np.ascontiguousarray(numbers[:, 1:]).view(np.float32).reshape(-1, 2, 3)
        places = np.repeat(np.arange(len(counts)), counts)
        found, self.results.n_pairs = orientational_correlation(
            places, numbers[:, 0].astype(np.int64), vectors, len(counts), self._tau_max, self._order, self._window_step
        )
        for name, values in zip(WATER_VECTORS, found, strict=True):
            self.results[name] = values
        self.results.tau_timeseries = np.arange(self._tau_max + 1)
        self.results.lag_times = self.results.tau_timeseries * mean_interval(tally.rows[:, 1])
        self.results.counts = counts

    @checked_arguments
    def relaxation_time(
        self,
        vector: WaterVector = "dipole",
        method: DecayMethod = "exponential",
        begin: float | None = None,
        end: float | None = None,
    ) -> float:
        """Return the relaxation time of a vector from its correlation function.

        Parameters
        ----------
        vector : {"oh", "hh", "dipole"}
            The vector.
        method, begin, end
            See `SurvivalProbability.residence_time`.

        Returns
        -------
        float
            Relaxation time in ps.

        Raises
        ------
        MismatchError
            When the vector is unknown, fewer than three values are in the range, or these do not decay.

        Warns
        -----
        MdreelWarning
            When the function is still above 5 % at the end of the integral, so that it leaves out a significant tail.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> from mdreel.analysis import WaterOrientationalRelaxation
        >>> from MDAnalysisTests.datafiles import TPR, XTC
        >>> universe = mda.Universe(TPR, XTC)
        >>> turning = WaterOrientationalRelaxation(universe, "name OW and around 3.5 protein", tau_max=3).run()
        >>> turning.relaxation_time("oh") > 0
        True
        """
        self._done()
        if vector not in WATER_VECTORS:
            raise MismatchError(f"vector must be 'oh', 'hh' or 'dipole', not {vector!r}")
        return decay_time(self.results.lag_times, self.results[vector], method, begin, end)

    def columns(self) -> Sequence[Column]:
        """Return columns with the lag in frames, the lag time, the three functions and the number of pairs."""
        return [
            Column("tau", "", self.results.tau_timeseries),
            Column("lag_time", "ps", self.results.lag_times),
            *(Column(name, "", self.results[name]) for name in WATER_VECTORS),
            Column("n_pairs", "", self.results.n_pairs),
        ]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the correlation functions over the lag time."""
        from mdreel.results.curves import lines

        values = np.column_stack([self.results[name] for name in WATER_VECTORS])
        label = f"Correlation of order {self._order}"
        return lines(self.results.lag_times, values, ("OH", "HH", "dipole"), label, title, ax, kind="Vector")
