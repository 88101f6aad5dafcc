"""Survival probability and residence times in shells."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from mdreel._core import Computation, Source, selected
from mdreel.analysis.hydration.changing_selection import ChangingSelection
from mdreel.analysis.hydration.decay_time import DecayMethod, decay_time
from mdreel.analysis.survival import mean_interval, survival
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments, checked_arguments_but
from mdreel.results.column import Column
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class SurvivalProbability(ChangingSelection):
    """Compute the probability that molecules stay in a shell, and their mean residence time.

    Parameters
    ----------
    universe, trajectory, verbose
        The atoms and the trajectory. See `atomgroup`, `trajectory` and `verbose` of `mdreel.Selection`.
    select : str, optional
        Selection of the shell, such as ``"name OW and around 3.5 protein"``, which will be evaluated in each frame.
    tau_max : int
        Longest lag, in analysed frames.
    window_step : int
        Number of frames between the starts of consecutive windows.
    intermittency : int
        Largest number of consecutive frames in which an atom may be absent and still be considered present.
    residues : bool
        Whether to consider residues instead of single atoms. Residues stay as long as one of their atoms is selected.

    Attributes
    ----------
    results.tau_timeseries : ndarray, shape (tau_max + 1,), int64
        Lags from 0 to `tau_max` in frames.
    results.lag_times : ndarray, shape (tau_max + 1,), float64
        Lags in ps, based on the mean time between analysed frames.
    results.sp_timeseries : ndarray, shape (tau_max + 1,), float64
        Survival probability, which is 1 for lag 0. For any other lag, it is NaN if no window of this length contains an
        atom.
    results.counts : ndarray, shape (n_frames,), int64
        Number of selected atoms in each frame.

    Raises
    ------
    SelectionError, UnsupportedError
        When the selection cannot be used. See `mdreel.Selection`.
    MismatchError
        When a number is out of range. In `run`, when `tau_max` is larger than the number of frames.

    Warns
    -----
    MdreelWarning
        If no atom is selected in any frame.

    Notes
    -----
    The function is ``P(tau) = mean_t N(t, t + tau) / N(t)`` over windows that start in frames t = 0, `window_step`, 2
    `window_step` and so on. N(t) is the number of atoms selected in frame t. N(t, t + tau) is the number of atoms
    selected in all frames from t to t + tau [1]_. Windows without atoms are left out. The definition, the names of the
    results, and the meaning of `intermittency` and `residues` are the same as in `waterdynamics.SurvivalProbability`.
    However, you need to pass `start`, `stop` and `step` to `run`. As the indices of the selected atoms are merged in
    the order of the frames, the results are bitwise identical for every executor and number of workers.

    You will need about 60 bytes of memory for each selected atom in each frame, and 24 bytes per frame.

    References
    ----------
    .. [1] P. Liu, E. Harder, B. J. Berne, "On the calculation of diffusion coefficients in confined fluids and
       interfaces with an application to the liquid-vapor interface of water", J. Phys. Chem. B 108 (2004) 6595-6602.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from mdreel.analysis import SurvivalProbability
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> shell = SurvivalProbability(mda.Universe(TPR, XTC), "name OW and around 3.5 protein", tau_max=4).run()
    >>> shell.results.sp_timeseries.shape
    (5,)
    >>> float(shell.results.sp_timeseries[0])
    1.0
    """

    _units = MappingProxyType({"tau_timeseries": "", "lag_times": "ps", "sp_timeseries": "", "counts": ""})
    _result_dimensions = MappingProxyType(
        {**dict.fromkeys(("tau_timeseries", "lag_times", "sp_timeseries"), ("lag",)), "counts": ("frame",)}
    )

    @checked_arguments_but("select")
    def __init__(
        self,
        universe: Atoms,
        select: str | None = None,
        tau_max: int = 20,
        window_step: int = 1,
        intermittency: int = 0,
        residues: bool = False,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(universe, select, trajectory, verbose)
        if tau_max < 1 or window_step < 1 or intermittency < 0:
            given = f"{tau_max}, {window_step} and {intermittency}"
            message = "tau_max and window_step must be 1 or more frames, and intermittency 0 or more"
            raise MismatchError(f"{message}, not {given}")
        self._tau_max, self._window_step, self._intermittency = tau_max, window_step, intermittency
        self._residues = bool(residues)

    def computation(self, source: Source) -> Computation:
        """Return the computation that evaluates the selection in each frame."""
        return selected(self._changing.among(self.atoms), True)

    def conclude(self, tally: Tally) -> None:
        """Compute the survival probability from the indices of the selected atoms."""
        counts = tally.values[:, 0].astype(np.int64)
        self._warn_of_no_atoms(counts)
        ids = np.empty(0, np.uint32) if tally.own is None else tally.own
        presence = self._presence(counts, ids, "residues" if self._residues else "atoms")
        lags, shares = survival(*presence, len(counts), self._tau_max, self._window_step, self._intermittency)
        self.results.tau_timeseries, self.results.sp_timeseries = lags.astype(np.int64), shares
        times = tally.rows[:, 1]
        self.results.lag_times, self.results.counts = lags * mean_interval(times), counts

    @checked_arguments
    def residence_time(
        self, method: DecayMethod = "exponential", begin: float | None = None, end: float | None = None
    ) -> float:
        """Return the mean residence time from the survival probability.

        Parameters
        ----------
        method : {"exponential", "integral"}
            Fit of ``A exp(-t / tau)``, or integral of the survival probability up to `tau_max`. The fit is a linear
            least-squares fit of the logarithms, weighted by the squares of the probabilities.
        begin, end : float, optional
            First and last lag time in ps to use. By default, all lag times are used.

        Returns
        -------
        float
            Mean residence time in ps.

        Raises
        ------
        MismatchError
            When fewer than three probabilities are in the range, or these do not decay.

        Warns
        -----
        MdreelWarning
            When more than 5 % still survive at the end of the integral, so that it leaves out a significant tail.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> from mdreel.analysis import SurvivalProbability
        >>> from MDAnalysisTests.datafiles import TPR, XTC
        >>> shell = SurvivalProbability(mda.Universe(TPR, XTC), "name OW and around 3.5 protein", tau_max=4).run()
        >>> shell.residence_time() > 0
        True
        """
        self._done()
        return decay_time(self.results.lag_times, self.results.sp_timeseries, method, begin, end)

    def columns(self) -> Sequence[Column]:
        """Return columns with the lag in frames, the lag time and the survival probability."""
        return [
            Column("tau", "", self.results.tau_timeseries),
            Column("lag_time", "ps", self.results.lag_times),
            Column("survival", "", self.results.sp_timeseries),
        ]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the survival probability as a function of the lag time."""
        from mdreel.results.curves import curve

        times, shares = self.results.lag_times, self.results.sp_timeseries
        known = np.isfinite(shares)
        return curve(times[known], shares[known], "Time (ps)", "Survival probability", title, ax)
