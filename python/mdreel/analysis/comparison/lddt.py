"""Local distance difference test (lDDT) against a reference structure."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from mdreel._core import Computation, Source, local_distances
from mdreel.analysis.comparison.reference_comparison import MOST_ATOMS
from mdreel.analysis.comparison.residue_comparison import ResidueComparison
from mdreel.analysis.topology.matching import MASS_TOLERANCE
from mdreel.foundation.arguments import checked_arguments_but
from mdreel.foundation.unit_check import check_length
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, SelectBoth


class LDDT(ResidueComparison):
    """Compute the local distance difference test (lDDT) of each frame and of its residues over a trajectory.

    Parameters
    ----------
    atomgroup, reference, ref_frame, tol_mass, match_atoms, trajectory, verbose
        The atoms, the structure to compare with and the trajectory. See `mdreel.RMSD`. However, `reference` cannot be
        an array of positions.
    select : str, tuple, dict or None
        Atoms to compare. See `mdreel.RMSD`. By default, these are the heavy atoms of proteins.
    radius : float
        Inclusion radius in Å. Only distances of the reference up to this length are compared.

    Attributes
    ----------
    results.lddt : ndarray, shape (n_frames,), float64
        lDDT of each frame, from 0 to 1.
    results.residue_lddt : ndarray, shape (n_frames, n_residues), float64
        lDDT of the residues, in the order of the topology. The value is NaN for a residue without distances.
    residue_labels : list of str
        Label of each residue, such as ``"ALA 5"``.

    Raises
    ------
    SelectionError, UnsupportedError
        When the atoms cannot be used. See `mdreel.RMSD`.
    MismatchError
        When your atoms do not correspond to the reference. In `run`, when no distances of up to `radius` can be found
        in the reference.

    Warns
    -----
    AtomOrderWarning
        When your atoms have the same masses as the reference atoms, but different names.
    UnitWarning
        When the radius was probably given in nm.

    Notes
    -----
    Frames do not need to be superposed. Let P be the set of all pairs of atoms that belong to different residues and
    whose distance ``r0`` in the reference is at most `radius`. Using the thresholds 0.5, 1, 2 and 4 Å, the score is the
    mean fraction of preserved distances [1]_: ``lDDT = sum_t |{p in P: |r_p - r0_p| <= t}| / (4 |P|)``. The score of a
    residue only uses the pairs that include one of its atoms. Unlike the authors' program, mdreel neither checks bond
    lengths and angles nor exchanges equivalent atoms (such as OD1 and OD2 of aspartate). As distances are float64 and
    counts are integers, the results are bitwise identical for every executor and number of workers.

    You will need 12 bytes of memory per pair, which is about 6 kB per heavy atom for the default radius. The results
    need 8 bytes per residue and frame (twice as much while they are sorted), and 24 bytes per frame.

    References
    ----------
    .. [1] V. Mariani, M. Biasini, A. Barbato, T. Schwede, "lDDT: a local superposition-free score for comparing
       protein structures and models using distance difference tests", Bioinformatics 29 (2013) 2722-2728.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from mdreel.analysis import LDDT
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> lddt = LDDT(mda.Universe(PSF, DCD), select="name CA").run()
    >>> lddt.results.lddt.shape, lddt.results.residue_lddt.shape
    ((98,), (98, 214))
    >>> float(lddt.results.lddt[0])
    1.0
    """

    _quantity, _axis_label = "lddt", "lDDT"
    _units = MappingProxyType({"lddt": "", "residue_lddt": ""})
    _result_dimensions = MappingProxyType({"lddt": ("frame",), "residue_lddt": ("frame", "residue")})

    @checked_arguments_but("select")
    def __init__(
        self,
        atomgroup: Atoms,
        reference: Atoms | None = None,
        select: SelectBoth = MOST_ATOMS,
        radius: float = 15.0,
        ref_frame: int | None = 0,
        *,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(atomgroup, reference, select, ref_frame, tol_mass, match_atoms, trajectory, verbose)
        self._radius = check_length("radius", radius, empty=0.0, doubtful=2.5)

    def computation(self, source: Source) -> Computation:
        """Find the distances in the reference and return the computation that compares them to those in each frame."""
        _, residues = np.unique(self._resindices, return_inverse=True)
        return local_distances(self._reference_positions(source), residues.astype(np.uint32), self._radius)
