"""TM-score, GDT-TS and GDT-HA against a reference structure."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from mdreel._core import Computation, Source, template_scores
from mdreel.analysis.base.frame_columns import wide_columns
from mdreel.analysis.comparison.reference_comparison import ReferenceComparison
from mdreel.analysis.topology.matching import MASS_TOLERANCE
from mdreel.analysis.topology.residue_labels import residue_name
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments_but
from mdreel.results.column import Column
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, SelectBoth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAMES = ("tm_score", "gdt_ts", "gdt_ha")


class TMScore(ReferenceComparison):
    """Compute the TM-score, GDT-TS and GDT-HA over a trajectory.

    Parameters
    ----------
    atomgroup, reference, ref_frame, tol_mass, match_atoms, trajectory, verbose
        The atoms, the structure to compare with and the trajectory. See `mdreel.RMSD`. However, `reference` cannot be
        an array of positions.
    select : str, tuple, dict or None
        One atom of each residue. See `mdreel.RMSD`. By default, these are the CA atoms of proteins. The k-th residue of
        the frame is always compared to the k-th residue of the reference.
    n_residues : int, optional
        Length of the target protein, by which the scores are divided. By default, this is the number of selected atoms.

    Attributes
    ----------
    results.tm_score, results.gdt_ts, results.gdt_ha : ndarray, shape (n_frames,), float64
        The scores of each frame, from 0 to 1.

    Raises
    ------
    SelectionError, UnsupportedError
        When the atoms cannot be used. See `mdreel.RMSD`.
    MismatchError
        When you select several atoms of a residue, `n_residues` is too small for your selection, or your atoms do not
        correspond to the reference.

    Warns
    -----
    AtomOrderWarning
        When your atoms have the same masses as the reference atoms, but different names.

    Notes
    -----
    The TM-score [1]_ is the maximum of ``sum_i 1 / (1 + (d_i / d0)^2) / L`` over all superpositions of the frame on the
    reference. Here, ``d_i`` is the distance of residue i from its reference position, L is the length of the target,
    and d0 is ``1.24 (L - 15)^(1/3) - 1.8`` Å, but at least 0.5 Å. GDT-TS is the mean of the largest fractions of
    residues within 1, 2, 4 and 8 Å [2]_. GDT-HA uses the distances 0.5, 1, 2 and 4 Å instead.

    As in the TM-score program, the maximum is found by an iterative search. It starts from all fragments of L, L/2,
    L/4, ..., 4 consecutive residues, where L is the number of selected atoms. Each fragment is superposed using equal
    weights. Next, all residues within ``d - 1`` Å of their reference positions are superposed, and then repeatedly
    those within ``d + 1`` Å. Here, d is d0, limited to the range from 4.5 to 8 Å. If fewer than three residues are
    within the distance, it is increased in steps of 0.5 Å. The search from a fragment ends when it reaches a set of
    residues that has been superposed before. The reported scores are the largest over all these superpositions, and are
    therefore lower bounds of the true maxima. The GDT scores from LGA, which uses a separate search for every distance,
    can be slightly larger.

    The results are bitwise identical for every executor and number of workers. You will need 40 bytes of memory per
    frame (24 bytes more while the results are sorted).

    References
    ----------
    .. [1] Y. Zhang, J. Skolnick, "Scoring function for automated assessment of protein structure template quality",
       Proteins 57 (2004) 702-710.
    .. [2] A. Zemla, "LGA: a method for finding 3D similarities in protein structures", Nucleic Acids Res. 31 (2003)
       3370-3374.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from mdreel.analysis import TMScore
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> scores = TMScore(mda.Universe(PSF, DCD)).run(step=97)
    >>> scores.results.tm_score.round(2)
    array([1.  , 0.69])
    """

    _units = MappingProxyType(dict.fromkeys(_NAMES, ""))
    _result_dimensions = MappingProxyType(dict.fromkeys(_NAMES, ("frame",)))

    @checked_arguments_but("select")
    def __init__(
        self,
        atomgroup: Atoms,
        reference: Atoms | None = None,
        select: SelectBoth = "protein and name CA",
        n_residues: int | None = None,
        ref_frame: int | None = 0,
        *,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(atomgroup, reference, select, ref_frame, tol_mass, match_atoms, trajectory, verbose)
        residues, counts = np.unique(self._resindices, return_counts=True)
        if (counts > 1).any():
            several = self.atomgroup.universe.residues[residues[int(counts.argmax())]]
            found = f"{residue_name(several)} has {counts.max()} selected atoms"
            raise MismatchError(f"{found}: select one atom of each residue, such as select='name CA'")
        self._n_residues = len(residues) if n_residues is None else int(n_residues)
        if self._n_residues < len(residues):
            message = f"n_residues must be at least {len(residues)}, the number of selected atoms"
            raise MismatchError(f"{message}, not {n_residues}")

    def computation(self, source: Source) -> Computation:
        """Read the reference and return the computation that determines the scores of each frame."""
        order = np.argsort(self._resindices, kind="stable").astype(np.uint32)
        reference = np.ascontiguousarray(self._reference_positions(source)[order])
        return template_scores(len(order), order, reference, self._n_residues)

    def conclude(self, tally: Tally) -> None:
        """Store the scores."""
        for name, values in zip(_NAMES, tally.values.T, strict=True):
            self.results[name] = np.ascontiguousarray(values)

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time and the scores."""
        values = np.column_stack([self.results[name] for name in _NAMES])
        return wide_columns(self.frames, self.times, values, _NAMES, "")

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the scores over time."""
        from mdreel.results.curves import lines

        values = np.column_stack([self.results[name] for name in _NAMES])
        return lines(self.times, values, ("TM-score", "GDT-TS", "GDT-HA"), "Score", title, ax, kind="Score")
