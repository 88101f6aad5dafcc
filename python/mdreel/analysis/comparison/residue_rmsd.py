"""RMSD of each residue from a reference structure."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from mdreel._core import Computation, Source, group_rmsd
from mdreel.analysis.comparison.reference_comparison import MOST_ATOMS
from mdreel.analysis.comparison.residue_comparison import ResidueComparison
from mdreel.analysis.topology.matching import MASS_TOLERANCE
from mdreel.foundation.arguments import checked_arguments_but
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, SelectBoth


class ResidueRMSD(ResidueComparison):
    """Compute the RMSD of each residue from a reference, by default after superposing all selected atoms.

    Parameters
    ----------
    atomgroup, reference, ref_frame, tol_mass, match_atoms, trajectory, verbose
        The atoms, the structure to compare with and the trajectory. See `mdreel.RMSD`. However, `reference` cannot be
        an array of positions.
    select : str, tuple, dict or None
        Atoms to superpose and compare. See `mdreel.RMSD`. By default, these are the heavy atoms of proteins.
    superposition : bool
        Whether to superpose all selected atoms on the reference first, using equal weights. If you want to superpose
        other atoms, use ``run(transformations=[mdreel.transformations.fit_rot_trans(...)])`` and set this to False.

    Attributes
    ----------
    results.rmsd : ndarray, shape (n_frames,), float64
        RMSD of all selected atoms in Å.
    results.residue_rmsd : ndarray, shape (n_frames, n_residues), float64
        RMSD of the selected atoms of each residue in Å, in the order of the topology.
    residue_labels : list of str
        Label of each residue, such as ``"ALA 5"``.

    Raises
    ------
    SelectionError, UnsupportedError
        When the atoms cannot be used. See `mdreel.RMSD`.
    MismatchError
        When your atoms do not correspond to those of the reference.

    Warns
    -----
    AtomOrderWarning
        When your atoms have the same masses as the reference atoms, but different names.

    Notes
    -----
    For a residue with n selected atoms, the RMSD is ``sqrt(sum_i |R x_i + t - y_i|^2 / n)``. The rotation R and the
    translation t are chosen to minimise the RMSD of all selected atoms (see `mdreel.RMSD`). If you select one atom per
    residue, the RMSD is the distance of this atom from its reference position. The results are bitwise identical for
    every executor and number of workers.

    You will need 8 bytes of memory per residue and frame (twice as much while the results are sorted), and 24 bytes per
    frame.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from mdreel.analysis import ResidueRMSD
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> rmsd = ResidueRMSD(mda.Universe(PSF, DCD), select="backbone").run()
    >>> rmsd.results.residue_rmsd.shape
    (98, 214)
    >>> rmsd.residue_labels[int(rmsd.results.residue_rmsd[-1].argmax())]
    'THR 149'
    """

    _quantity, _axis_label, _unit = "rmsd", "RMSD (Å)", "Å"
    _units = MappingProxyType({"rmsd": "Å", "residue_rmsd": "Å"})
    _result_dimensions = MappingProxyType({"rmsd": ("frame",), "residue_rmsd": ("frame", "residue")})

    @checked_arguments_but("select")
    def __init__(
        self,
        atomgroup: Atoms,
        reference: Atoms | None = None,
        select: SelectBoth = MOST_ATOMS,
        ref_frame: int | None = 0,
        superposition: bool = True,
        *,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(atomgroup, reference, select, ref_frame, tol_mass, match_atoms, trajectory, verbose)
        self._superposition = bool(superposition)

    def computation(self, source: Source) -> Computation:
        """Read the reference and return the computation that determines the RMSD of all atoms and of each residue."""
        reference, residues = self._reference_positions(source), self._resindices
        everyone = np.arange(len(residues), dtype=np.uint32)
        whole = (everyone, reference, None)
        order = np.argsort(residues, kind="stable").astype(np.uint32)
        parts = np.split(order, np.flatnonzero(np.diff(residues[order])) + 1)
        groups = [(part, np.ascontiguousarray(reference[part]), None) for part in parts]
        if self._superposition:
            return group_rmsd(len(everyone), whole, groups)
        return group_rmsd(len(everyone), None, [whole, *groups])
