"""Mean square displacement as a function of the lag time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, kept_positions, mean_square_displacements, paths
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.choices import Coordinates, Scheme
from mdreel.analysis.correlation import fft_length
from mdreel.analysis.diffusion import Diffusion, diffusion_of
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.periodic.jumps import Jump, find_jump_in
from mdreel.analysis.periodic.periodic_cell import PeriodicCell
from mdreel.analysis.topology.residue_labels import atom_coordinates
from mdreel.analysis.uneven_lags import UnevenLags
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.timing.spans import COORDINATOR
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, Select, atoms_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup

_AXES = {"xyz": [0, 1, 2], "xy": [0, 1], "xz": [0, 2], "yz": [1, 2], "x": [0], "y": [1], "z": [2]}
_CHUNK = 1 << 20  # bytes of coordinates that a thread processes at a time
_ATOMS_AT_A_TIME = 16  # number of atoms whose paths the core computes together


class UpdatingGroupError(UnsupportedError, TypeError):
    """Error raised for an UpdatingAtomGroup, because its atoms change from frame to frame."""


class EinsteinMSD(Analysis):
    """Compute the mean square displacement of particles as a function of the lag time, averaged over all time origins.

    Parameters
    ----------
    u : MDAnalysis.Universe or AtomGroup
        The system.
    select : str or sequence of str, optional
        Selection of the particles. If None, the atoms of `u` are used in the given order, including repeated atoms.
    msd_type : {"xyz", "xy", "xz", "yz", "x", "y", "z"}
        Dimensions to include in the displacement.
    fft : bool
        Whether to use Fourier transforms, whose run time grows as n log n with the number of frames. If `max_lag` is
        small, you can set this to False, because the direct computation will be faster.
    non_linear : bool
        Whether your frames are unevenly spaced in time. Displacements will then be averaged over all pairs of frames
        that have the same lag time, without Fourier transforms. This is also done if you pass unevenly spaced frame
        numbers in ``run(frames=...)``.
    max_lag : int, optional
        Largest lag in frames. The default is the length of the trajectory. This cannot be used for unevenly spaced
        frames.
    nojump : {"lattice", "toroidal"}, optional
        Scheme for undoing the jumps of individual atoms across cell boundaries. See `mdreel.transformations.nojump`.
        Both schemes can be used with every executor. By default, positions are used as stored and should not be
        wrapped. If they are, a `JumpWarning` will be issued.
    per_particle : bool
        Whether to keep the mean square displacements of the individual particles.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.timeseries : ndarray, shape (n_lags,), float64
        Mean square displacement in Å^2, averaged over all particles.
    results.msds_by_particle : ndarray, shape (n_lags, n_particles), float64
        Mean square displacements of the particles in Å^2, in the order of the group. Only available with
        `per_particle`.
    results.delta_t_values : ndarray, shape (n_lags,), float64
        Lag times in ps.
    ag : MDAnalysis.AtomGroup
        The particles.
    n_particles, dim_fac : int
        Number of particles and number of dimensions.
    select, msd_type, fft, non_linear
        The parameters.

    Raises
    ------
    SelectionError
        When there are no atoms.
    UpdatingGroupError
        When `u` is an UpdatingAtomGroup. This error is also an `UnsupportedError` and a TypeError.
    MismatchError
        When `msd_type` or `max_lag` is invalid. In `run`, when frames are unevenly spaced in time and you did not set
        `non_linear`, times do not increase, or `nojump` is set and a frame has no cell.

    Notes
    -----
    The mean square displacement for a lag of m out of N frames is ``msd(m) = 1/(N-m) sum_t |r(t+m) - r(t)|^2``. If you
    use Fourier transforms, it is computed as a sum of squares minus twice an autocorrelation (Calandrini et al.,
    Collection SFN 12 (2011) 201). Calculations use float64 positions relative to the mean position of each particle.

    If frames are unevenly spaced, each pair of frames may have a different lag. Each pair then needs about 50 bytes of
    memory while the pairs are being sorted by lag. If you use `per_particle`, each lag needs another 8 bytes per
    particle.

    You will need 12 bytes of memory per atom and frame for the positions, and 40 bytes per frame for the frame number,
    the time and the cell. This does not include the results of `per_particle`, which need 8 bytes per particle and lag.
    Each worker needs a few additional megabytes.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> msd = mdreel.EinsteinMSD(mda.Universe(PSF, DCD), select="name CA", max_lag=20).run()
    >>> msd.results.timeseries.shape, msd.results.msds_by_particle.shape
    ((21,), (21, 214))
    """

    _units = MappingProxyType({"timeseries": "Å^2", "msds_by_particle": "Å^2", "delta_t_values": "ps"})
    _result_dimensions = MappingProxyType(
        {"timeseries": ("lag",), "msds_by_particle": ("lag", "atom"), "delta_t_values": ("lag",)}
    )

    @checked_arguments
    def __init__(
        self,
        u: Atoms,
        select: Select = "all",
        msd_type: Coordinates = "xyz",
        fft: bool = True,
        non_linear: bool = False,
        *,
        max_lag: int | None = None,
        nojump: Scheme | None = None,
        per_particle: bool = True,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        if "UpdatingAtomGroup" in {kind.__name__ for kind in type(u).__mro__}:
            message = "UpdatingAtomGroups are not valid for mean square displacements: every frame needs the same atoms"
            raise UpdatingGroupError(f"{message}; select them without updating=True")
        super().__init__(atoms_of(u, select, "u"), trajectory, verbose=verbose)
        if not isinstance(msd_type, str) or msd_type.lower() not in _AXES:
            raise MismatchError(f"Invalid msd_type {msd_type}, must be a string and one of: {', '.join(_AXES)}")
        if max_lag is not None and max_lag < 0:
            raise MismatchError(f"max_lag must be 0 or more frames, not {max_lag}")
        if max_lag is not None and non_linear:
            raise MismatchError("max_lag counts frames at equal intervals: leave it out with non_linear=True")
        if nojump not in (None, "lattice", "toroidal"):
            raise MismatchError(f"nojump must be 'lattice', 'toroidal' or None, not {nojump!r}")
        self.select, self.msd_type, self.fft, self.non_linear = select, msd_type, fft, non_linear
        self._axes = _AXES[msd_type.lower()]
        self._max_lag = max_lag
        self._nojump = nojump
        self._per_particle = per_particle

    @property
    def ag(self) -> AtomGroup:
        """The particles."""
        return self._atomgroup

    @property
    def n_particles(self) -> int:
        """Number of particles."""
        return self._selection.n_given

    @property
    def dim_fac(self) -> int:
        """Number of dimensions, under the name used in MDAnalysis."""
        return self.n_dimensions

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions of the displacement."""
        return len(self._axes)

    def _result_coordinates(self) -> list[LabelledArray]:
        lags = LabelledArray("lag", ("lag",), "ps", self.results.delta_t_values)
        return [*super()._result_coordinates(), lags, *atom_coordinates(self.atomgroup)]

    def columns(self) -> Sequence[Column]:
        """Return columns with the lag time and the mean square displacement."""
        values = Column("msd", "Å^2", self.results.timeseries)
        return [Column("lag_time", "ps", self.results.delta_t_values), values]

    @property
    def without_cell(self) -> str:
        """Advice on how to handle frames without a periodic cell, for error messages."""
        return "give nojump=None if no atom jumps across the cell"

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries(
            "displacements are computed for each atom separately",
            paths=self._nojump is None,
            remedy='EinsteinMSD(..., nojump="toroidal") in Python, --unwrap-jumps toroidal on the command line',
        )

    def computation(self, source: Source) -> Computation:
        """Return the computation that keeps the positions of each frame."""
        return kept_positions(len(self.atoms))

    @property
    def keeps_positions(self) -> bool:
        """Whether a run keeps the positions of all frames, which is always the case for this analysis."""
        return True

    def find_kept_jump(self, tally: Tally) -> Jump | None:
        """Return the first jump of a particle in the positions of all frames."""
        frames, n_numbers = tally.values.view(np.float32), 3 * len(self.atoms)

        def cell_of(place: int) -> PeriodicCell | None:
            return PeriodicCell.of_dimensions(frames[place, n_numbers : n_numbers + 6])

        return find_jump_in(frames[:, :n_numbers], cell_of)

    def conclude(self, tally: Tally) -> None:
        """Compute the displacements of all particles in chunks."""
        times = tally.rows[:, 1]
        uneven = UnevenLags.of(times) if self._is_uneven() else None
        self.results.delta_t_values = self._lags(times) if uneven is None else uneven.times
        n_lags = len(self.results.delta_t_values)
        frames = tally.values.view(np.float32)
        each = np.empty((n_lags, len(self.atoms))) if self._per_particle else None
        counts = np.bincount(self._selection.places, minlength=len(self.atoms)).astype(np.float64)

        def of_atoms(first: int, end: int) -> NDArray[np.float64]:
            """Store the displacements of each particle, and return their sum over particles."""
            found = self._displacements(frames, first, end, n_lags, uneven)
            if each is not None:
                each[:, first:end] = found.T
            sums: NDArray[np.float64] = (counts[first:end, None] * found).sum(axis=0)
            return sums

        total = sum(self._of_chunks(of_atoms, max(len(frames), n_lags)), np.zeros(n_lags))
        self.results.timeseries = total / self._selection.n_given
        if each is not None:
            in_order = self._selection.is_in_order
            self.results.msds_by_particle = each if in_order else each[:, self._selection.places]

    @checked_arguments
    def diffusion(self, begin: float | None = None, end: float | None = None) -> Diffusion:
        """Return the diffusion coefficient from a linear fit to the displacements.

        Parameters
        ----------
        begin, end : float, optional
            First and last lag time of the fit in ps. By default, these are 10 % and 90 % of the longest lag time.

        Returns
        -------
        Diffusion
            The coefficient and the fitted line. See `mdreel.analysis.diffusion.diffusion_of`.

        Raises
        ------
        MismatchError
            If there are fewer than 4 lag times in the range.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import TPR, XTC
        >>> oxygens = mda.Universe(TPR, XTC).select_atoms("name OW")
        >>> msd = mdreel.EinsteinMSD(oxygens, nojump="lattice").run()
        >>> msd.diffusion(begin=100, end=500).coefficient > 0
        True
        """
        self._done()
        return diffusion_of(self.results.delta_t_values, self.results.timeseries, self.n_dimensions, begin, end)

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the displacements and the fitted line."""
        from mdreel.results.curves import mean_square_displacement

        times, values = self.results.delta_t_values, self.results.timeseries
        try:
            fit = self.diffusion()
        except MismatchError:  # the series is too short for a fit
            return mean_square_displacement(times, values, title=title, ax=ax)
        line = (fit.slope, fit.intercept, fit.begin, fit.end)
        label = f"D = ({fit.coefficient * 10:.3g} ± {fit.error * 10:.1g}) × 10⁻⁵ cm²/s"
        return mean_square_displacement(times, values, line, label, title, ax)

    def _is_uneven(self) -> bool:
        """Return whether frames are unevenly spaced, based on `non_linear` or the chosen frame numbers."""
        steps = np.diff(self.frames)
        is_chosen = bool(len(steps) and (steps != steps[0]).any()) and not self.damage
        if is_chosen and self._max_lag is not None:
            raise MismatchError("max_lag counts frames at equal intervals: leave it out for these frames")
        return self.non_linear or is_chosen

    def _lags(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Check that frames are evenly spaced, and return the lag times."""
        most = len(times) - 1
        n_lags = 1 + (most if self._max_lag is None else min(self._max_lag, most))
        interval = float(times[-1] - times[0]) / most if most else 0.0
        if most and not interval > 0:
            found = f"the times of the frames go from {times[0]:g} to {times[-1]:g} ps"
            raise MismatchError(
                f"mean square displacements need times that increase, and {found}: store the times again"
            )
        # Some formats store times in single precision.
        allowed = 1e-3 * abs(interval) + 2 * float(np.finfo(np.float32).eps * np.abs(times).max())
        late = np.abs(times - times[0] - interval * np.arange(len(times)))
        if (late > allowed).any():
            wrong = int(late.argmax())
            found = f"frame {self.frames[wrong]} is {late[wrong]:g} ps off its expected time"
            raise MismatchError(
                f"mean square displacements need frames at equal intervals in time, or non_linear=True: {found}"
            )
        return np.arange(n_lags, dtype=np.float64) * interval

    def _displacements(
        self, frames: NDArray[np.float32], first: int, end: int, n_lags: int, uneven: UnevenLags | None
    ) -> NDArray[np.float64]:
        """Return the displacements of atoms from `first` up to `end`, shape (end - first, n_lags)."""
        n_atoms = len(self.atoms)
        if uneven is not None:
            return uneven.mean_squares(paths(frames, n_atoms, first, end, self._nojump)[:, self._axes])
        # Transforms of real numbers are fast if their length is even.
        length = 2 * fft_length(-(-(len(frames) + n_lags - 1) // 2)) if self.fft else None
        return mean_square_displacements(frames, n_atoms, first, end, self._axes, self._nojump, n_lags, length)

    def _of_chunks(
        self, of_atoms: Callable[[int, int], NDArray[np.float64]], n_numbers: int
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the results of a function for chunks of atoms in order. Each atom has `n_numbers` coordinates."""
        n_atoms = len(self.atoms)
        width = max(1, _CHUNK // (8 * 3 * max(n_numbers, 1)))
        width -= width % _ATOMS_AT_A_TIME if width > _ATOMS_AT_A_TIME else 0
        chunks = [(first, min(first + width, n_atoms)) for first in range(0, n_atoms, width)]
        n_threads = min(self._n_threads(), len(chunks))
        if n_threads == 1:
            yield from (of_atoms(*chunk) for chunk in chunks)
            return
        with ThreadPoolExecutor(n_threads) as threads:
            yield from threads.map(of_atoms, *zip(*chunks, strict=True))

    def _n_threads(self) -> int:
        """Return the number of workers that the run used on this machine, at least 1."""
        crew = self._done().crew
        here = crew.get(COORDINATOR)
        return max(1, sum(one.host == here.host for number, one in crew.items() if number != COORDINATOR and here))
