"""Fraction of native contacts as defined by Best, Hummer and Eaton."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from mdreel._core import Computation, Source, contacts_of, native_contacts
from mdreel.analysis.base.frame_columns import wide_columns
from mdreel.analysis.comparison.reference_comparison import MOST_ATOMS, ReferenceComparison
from mdreel.analysis.topology.matching import MASS_TOLERANCE
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments_but
from mdreel.foundation.unit_check import check_length
from mdreel.results.column import Column
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, SelectBoth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class NativeContacts(ReferenceComparison):
    """Compute the fraction of native contacts Q over a trajectory, as defined by Best, Hummer and Eaton.

    Parameters
    ----------
    atomgroup, reference, ref_frame, tol_mass, match_atoms, trajectory, verbose
        The atoms, the native structure and the trajectory. See `mdreel.RMSD`. However, `reference` cannot be an array
        of positions.
    select : str, tuple, dict or None
        Atoms between which there can be contacts. See `mdreel.RMSD`. By default, these are the heavy atoms of proteins.
    radius : float
        Largest distance of a contact in the reference, in Å.
    min_separation : int
        Minimum separation of the two residues of a contact along the chain, in residues. Contacts between segments are
        always counted.
    beta : float
        Steepness of the switching function in Å^-1.
    lambda_constant : float
        Factor by which the native distance of a contact can grow until the contact is counted as one half.

    Attributes
    ----------
    results.q : ndarray, shape (n_frames,), float64
        Fraction of native contacts, from 0 to 1.
    results.pairs : ndarray, shape (n_contacts, 2), int64
        Universe indices of the atoms of each native contact.
    results.distances : ndarray, shape (n_contacts,), float64
        Native distance of each contact in Å.

    Raises
    ------
    SelectionError, UnsupportedError
        When the atoms cannot be used. See `mdreel.RMSD`.
    MismatchError
        When your atoms do not correspond to the reference, or a number is out of range. In `run`, when no contacts can
        be found in the reference.

    Warns
    -----
    AtomOrderWarning
        When your atoms have the same masses as the reference atoms, but different names.
    UnitWarning
        When the radius was probably given in nm.

    Notes
    -----
    The fraction of n contacts is ``Q = sum_c 1 / (1 + exp(beta (r_c - lambda r0_c))) / n``, where ``r_c`` and ``r0_c``
    are the distances of contact c in a frame and in the reference [1]_. The default values are taken from this paper,
    which uses ``beta = 5 Å^-1`` and ``lambda = 1.8``. In the paper, two heavy atoms are in contact if they are at most
    4.5 Å apart and their residues are more than three positions apart in the sequence. To apply this function to the
    contacts between two groups of atoms, use `mdreel.Contacts` with ``method="soft_cut"``, which has the same
    parameters as in MDAnalysis. The results are bitwise identical for every executor and number of workers.

    You will need 24 bytes of memory per frame and 24 bytes per contact.

    References
    ----------
    .. [1] R. B. Best, G. Hummer, W. A. Eaton, "Native contacts determine protein folding mechanisms in atomistic
       simulations", Proc. Natl. Acad. Sci. USA 110 (2013) 17874-17879.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from mdreel.analysis import NativeContacts
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> native = NativeContacts(mda.Universe(PSF, DCD)).run(step=97)
    >>> native.results.q.round(2)
    array([1.  , 0.92])
    """

    _units = MappingProxyType({"q": "", "pairs": "", "distances": "Å"})
    _result_dimensions = MappingProxyType({"q": ("frame",), "pairs": ("contact", "side"), "distances": ("contact",)})

    @checked_arguments_but("select")
    def __init__(
        self,
        atomgroup: Atoms,
        reference: Atoms | None = None,
        select: SelectBoth = MOST_ATOMS,
        radius: float = 4.5,
        min_separation: int = 4,
        beta: float = 5.0,
        lambda_constant: float = 1.8,
        ref_frame: int | None = 0,
        *,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(atomgroup, reference, select, ref_frame, tol_mass, match_atoms, trajectory, verbose)
        self._radius = check_length("radius", radius, empty=0.0, doubtful=2.0)
        if min_separation < 0:
            raise MismatchError(f"min_separation must be 0 or more residues, not {min_separation}")
        if not (beta > 0 and lambda_constant > 0):
            raise MismatchError(f"beta and lambda_constant must be more than 0, not {beta} and {lambda_constant}")
        self._min_separation, self._measure = min_separation, (float(beta), float(lambda_constant))

    def computation(self, source: Source) -> Computation:
        """Find the contacts in the reference and return the computation that finds their fraction in each frame."""
        reference = self._reference_positions(source)
        pairs, distances = contacts_of(reference, reference, None, self._radius)
        residues = self._resindices[pairs].astype(np.int64)
        segments = self.atomgroup.universe.residues.segindices[residues]
        is_far = np.abs(residues[:, 0] - residues[:, 1]) >= self._min_separation
        kept = (pairs[:, 0] < pairs[:, 1]) & (is_far | (segments[:, 0] != segments[:, 1]))
        if not kept.any():
            found = f"the reference has no contacts up to {self._radius:g} Å"
            message = f"{found} of residues that are at least {self._min_separation} apart: raise the radius"
            raise MismatchError(message)
        return native_contacts(len(reference), [(pairs[kept], distances[kept])], self._measure, False)

    def conclude(self, tally: Tally) -> None:
        """Store the fractions and the contacts in the reference."""
        ((pairs, distances),) = tally.arguments[1]
        self.results.q = np.ascontiguousarray(tally.values[:, 0])
        self.results.pairs, self.results.distances = self.atoms[pairs].astype(np.int64), distances

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time and Q."""
        return wide_columns(self.frames, self.times, self.results.q[:, None], ["q"], "")

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw Q over time."""
        from mdreel.results.figure import time_series

        label = "Native contacts Q"
        return time_series(self.times, self.results.q, label, title, ax, frames=self.frames, from_zero=False)
