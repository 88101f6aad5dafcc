"""Correlations between the motions of atoms."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, covariance, cross_correlation
from mdreel.analysis.correlation_network import CorrelationNetwork
from mdreel.analysis.displacement_correlations import (
    correlations_of,
    generalized_correlation,
    information_of,
    traces_of,
)
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.reference import read_frame
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.size_check import check_size
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import atoms_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe

_FEWEST, _FEWEST_OF_INFORMATION = 2, 7
"""Frames below which there is no variance, and below which six coordinates always depend on each other."""


class CrossCorrelation(CorrelationNetwork):
    """Compute the correlation between the displacements of all pairs of atoms (DCCM), and their mutual information.

    Parameters
    ----------
    universe : MDAnalysis.Universe or AtomGroup
        The system.
    select : str, optional
        The atoms, in MDAnalysis's selection language. Use None for all atoms in the given order, with repetitions.
    superposition : bool
        Whether to superpose frames on the first analysed frame, using equal weights. This is recommended, because the
        correlations would otherwise be dominated by the motion of the whole molecule.
    mutual_information : bool
        Whether to also compute the linear mutual information. This needs nine times the memory.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.correlation : ndarray, shape (n_atoms, n_atoms), float64
        Dynamic cross-correlation matrix (DCCM), from -1 (opposite displacements) to 1 (same displacements).
    results.mutual_information : ndarray, shape (n_atoms, n_atoms), float64
        Linear mutual information in nats, from 0 to infinity. To compute it, set ``mutual_information=True``.
    results.generalized_correlation : ndarray, shape (n_atoms, n_atoms), float64
        Generalized correlation, from 0 to 1, that corresponds to the mutual information and is only available with it.

    Raises
    ------
    SelectionError
        If your selection is empty or not valid.
    MismatchError
        In `run`, if there are fewer than two frames, or fewer than seven for the mutual information. This error is also
        raised if the matrix does not fit into memory.
    UnsupportedError
        If `universe` is an UpdatingAtomGroup.

    Notes
    -----
    The correlation is ``C_ij = <d_i . d_j> / sqrt(<d_i^2> <d_j^2>)``, where d is the displacement from the mean
    position. The linear mutual information is ``I_ij = (ln det C_i + ln det C_j - ln det C_(ij)) / 2``, where C_i and
    C_(ij) are the covariance matrices of the positions of one atom (3 x 3) and of both (6 x 6). The generalized
    correlation is ``sqrt(1 - exp(-2 I_ij / 3))`` (O. F. Lange and H. Grubmueller, Proteins 62, 1053, 2006).

    If the fluctuation of an atom is at most 1e-6 Å, its correlations are not defined, and the matrix contains NaN in
    its row and column. For the mutual information, this also applies to atoms that do not move at all along some
    direction. If there are only two frames, correlations are the cosines of the angles between the displacements.

    To compute the correlations in a single pass, we sum the displacements from the first analysed frame, in steps of
    2^-21 Å, and their products. These sums are exact, so you will always get bitwise identical results, regardless of
    the executor and the number of workers. Memory use grows by 16 bytes per frame. Each block that waits to be merged
    needs another 8 bytes per pair of atoms (89 MB for 3341 atoms), or 72 bytes per pair for the mutual information.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> motion = mdreel.analysis.CrossCorrelation(u, select="name CA", superposition=True).run()
    >>> motion.results.correlation.shape
    (214, 214)
    >>> motion.edge_list(min_correlation=0.5)[0][:2]
    ('MET 1', 'ARG 2')
    """

    _units = MappingProxyType({"mutual_information": "nat"})
    _result_dimensions = MappingProxyType(
        dict.fromkeys(("correlation", "mutual_information", "generalized_correlation"), ("atom", "other_atom"))
    )

    @checked_arguments
    def __init__(
        self,
        universe: Universe | AtomGroup,
        select: str | None = "all",
        superposition: bool = False,
        mutual_information: bool = False,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(atoms_of(universe, select, "universe"), trajectory, verbose=verbose)
        self._is_superposed, self._with_information = bool(superposition), bool(mutual_information)
        self._first = 0

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("displacements use no periodic images", whole=True, paths=not self._is_superposed)

    def start_at(self, first: int) -> None:
        """Receive the first analysed frame, on which the other frames are superposed."""
        self._first = first

    def computation(self, source: Source) -> Computation:
        """Return the computation that sums the displacements from the first analysed frame and their products."""
        n_pairs = len(self.atoms) ** 2
        # The sums of all frames and of a block, both in 16 bytes, the sums as numbers, and the results.
        n_bytes = 9 * 20 * n_pairs + 24 * n_pairs if self._with_information else 28 * n_pairs
        check_size("the correlations of all pairs of atoms", n_bytes, "select fewer atoms")
        reference = read_frame(source, self._first, self.atoms)
        everyone = np.arange(len(self.atoms), dtype=np.uint32)
        fitted = (everyone, reference, self._selection.add_up(None)) if self._is_superposed else None
        return (covariance if self._with_information else cross_correlation)(reference, fitted)

    def conclude(self, tally: Tally) -> None:
        """Compute the correlations from the sums."""
        fewest = _FEWEST_OF_INFORMATION if self._with_information else _FEWEST
        if tally.n_frames < fewest:
            what = "the mutual information" if self._with_information else "a correlation"
            message = f"{what} needs {fewest} frames or more, not {tally.n_frames}: analyse more frames"
            raise MismatchError(message)
        found: dict[str, NDArray[np.float64]] = {}
        n_atoms = len(tally.arguments[0])
        if self._with_information:
            traces, information = information_of(tally.sums, n_atoms, tally.n_frames)
            found["mutual_information"] = information
            found["generalized_correlation"] = generalized_correlation(information)
        else:
            traces = traces_of(tally.sums, n_atoms, tally.n_frames)
        found = {"correlation": correlations_of(traces), **found}
        places = self._selection.places
        has_given_order = np.array_equal(places, np.arange(n_atoms))
        for name, matrix in found.items():
            self.results[name] = matrix if has_given_order else matrix[np.ix_(places, places)]

    def _describe(self) -> str:
        kind = " with mutual information" if self._with_information else ""
        return super()._describe() + kind
