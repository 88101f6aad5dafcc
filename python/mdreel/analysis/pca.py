"""Principal component analysis of atomic positions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, covariance
from mdreel.analysis.component_overlaps import ComponentAnalysis, check_atoms
from mdreel.analysis.component_overlaps import cumulative_overlap as cumulative_overlap  # noqa: PLC0414 (where MDAnalysis has it)
from mdreel.analysis.component_overlaps import rmsip as rmsip  # noqa: PLC0414
from mdreel.analysis.component_structures import Components, ComponentStructures, Followers, chosen_components
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.principal_components import checked_mean, components_of, covariance_of
from mdreel.analysis.projection import Projection
from mdreel.analysis.topology.matching import MASS_TOLERANCE
from mdreel.analysis.topology.reference import read_frame
from mdreel.errors import MdreelWarning, MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.size_check import check_size
from mdreel.foundation.stack_level import caller_level
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, atoms_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe


class PCA(ComponentAnalysis):
    """Compute the principal components of atomic positions, which are the eigenvectors of their covariance matrix.

    Parameters
    ----------
    universe : MDAnalysis.Universe or AtomGroup
        The system.
    select : str, optional
        The atoms, in MDAnalysis's selection language. Use None for all atoms in the given order, with repetitions.
    align : bool
        Whether to superpose frames on the first analysed frame, using equal weights.
    mean : array_like, shape (n_atoms, 3), float64, optional
        Positions in Å from which displacements are computed. By default, the mean positions are used.
    n_components : int, optional
        Number of components to keep. By default, all components are kept.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.p_components : ndarray, shape (3 * n_atoms, n_components), float64
        Normalised components as columns, in order of decreasing variance. The rows are the x, y and z coordinates of
        one atom after another. The sign is chosen such that the entry with the largest magnitude is positive.
    results.variance : ndarray, shape (n_components,), float64
        Eigenvalue of each component in Å^2.
    results.cumulated_variance : ndarray, shape (n_components,), float64
        Cumulative fraction of the total variance.
    results.mean : ndarray, shape (n_atoms, 3), float64
        Mean positions, or the given `mean`, in Å. Also available as `mean`.
    results.covariance : ndarray, shape (3 * n_atoms, 3 * n_atoms), float64
        Covariance matrix in Å^2. Also available as `cov`.
    align : bool
        Whether frames are superposed.

    Raises
    ------
    SelectionError
        If your selection is empty or not valid.
    MismatchError
        If `mean` or `n_components` does not match the atoms. In `run`, if there is only one frame.
    UnsupportedError
        If `universe` is an UpdatingAtomGroup.

    Notes
    -----
    The covariance matrix is ``C = sum_t (x(t) - m)(x(t) - m)^T / (n_frames - 1)``. In a single pass, we sum the
    displacements from the first analysed frame, in steps of 2^-21 Å (4.8e-7 Å), and their products. As these sums are
    exact, the matrix is bitwise identical for every executor and any number of workers. The eigenvectors are computed
    using LAPACK.

    Memory use grows by 16 bytes per frame. In addition, each block that waits to be merged needs 72 bytes per pair of
    atoms (72 MB for 1000 atoms). Up to 16 blocks per worker may be waiting. If you have many atoms, you should
    therefore use few workers.

    Note that MDAnalysis's `PCA` superposes frames in single precision.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> pca = mdreel.PCA(u, select="name CA", align=True).run()
    >>> pca.results.cumulated_variance[:3].round(2)
    array([0.9 , 0.95, 0.97])
    >>> pca.transform(u.select_atoms("name CA"), n_components=2, superposition=True).shape
    (98, 2)
    """

    _moved_to_results: ClassVar[Mapping[str, str]] = {
        name: name for name in ("p_components", "variance", "cumulated_variance")
    }

    @checked_arguments
    def __init__(
        self,
        universe: Universe | AtomGroup,
        select: str | None = "all",
        align: bool = False,
        mean: ArrayLike | None = None,
        n_components: int | None = None,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(atoms_of(universe, select, "universe"), trajectory, verbose=verbose)
        self.align = align
        self._mean = None if mean is None else checked_mean(mean, self._n_atoms)
        self._n_components = self._number_of_components(n_components)
        self._first = 0
        self._reference: NDArray[np.float64] | None = None
        self._eigen: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    @property
    def _n_atoms(self) -> int:
        return self._selection.n_given

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean positions, or the given `mean`, in Å, shape (n_atoms, 3), float64. The same as `results.mean`."""
        self._done()
        mean: NDArray[np.float64] = self.results.mean
        return mean

    @property
    def cov(self) -> NDArray[np.float64]:
        """Covariance matrix in Å^2, shape (3 * n_atoms, 3 * n_atoms), float64. The same as `results.covariance`."""
        self._done()
        matrix: NDArray[np.float64] = self.results.covariance
        return matrix

    @property
    def n_components(self) -> int | None:
        """Number of components in the results. Before a run, None means all. Set it to truncate the results."""
        return self._n_components if self._eigen is None else len(self.results.variance)

    @n_components.setter
    def n_components(self, n_components: int | None) -> None:
        self._n_components = self._number_of_components(n_components)
        if self._eigen is not None:
            self._keep_components()

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("displacements use no periodic images", whole=True, paths=not self.align)

    def start_at(self, first: int) -> None:
        """Receive the first analysed frame, on which the other frames are superposed."""
        self._first = first

    def computation(self, source: Source) -> Computation:
        """Return the computation that sums the displacements from the first analysed frame and their products."""
        check_size("the covariance matrix and its eigenvectors", 144 * len(self.atoms) ** 2, "select fewer atoms")
        reference = read_frame(source, self._first, self.atoms)
        fitted = np.arange(len(self.atoms), dtype=np.uint32), reference, self._selection.add_up(None)
        return covariance(reference, fitted if self.align else None)

    def conclude(self, tally: Tally) -> None:
        """Compute the covariance matrix from the sums, and then its eigenvectors."""
        if tally.n_frames < 2:
            raise MismatchError("a single frame has no covariance: expected at least two frames: analyse more frames")
        self._reference = tally.arguments[0][self._selection.places]
        self.results.mean, self.results.covariance = covariance_of(tally, self._selection.places, self._mean)
        self._eigen = components_of(self.results.covariance)
        self._keep_components()

    @checked_arguments
    def transform(
        self,
        atomgroup: Atoms,
        n_components: int | None = None,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        verbose: bool = False,
        *,
        superposition: bool | None = None,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool | None = None,
        trajectory: Trajectory | None = None,
        **options: Any,
    ) -> NDArray[np.float64]:
        """Return the projections of frames onto the components.

        Parameters
        ----------
        atomgroup : MDAnalysis.AtomGroup or Universe
            Group with the same atoms in the same order, which can be in any Universe.
        n_components : int, optional
            Number of components. By default, all components that were kept will be used.
        start, stop, step : int, optional
            Range of frames, as in a Python slice.
        verbose : bool
            Whether to show progress.
        superposition : bool, optional
            Whether to superpose frames in the same way as for the components, which requires ``align=True``. By
            default, frames are used as stored, as in MDAnalysis. You will then see a warning if your components belong
            to superposed frames.
        tol_mass : float
            Largest difference in amu that is allowed between the masses of corresponding atoms.
        match_atoms : bool, optional
            Whether to check that the atoms correspond to the atoms of the components. This means that they have the
            same masses, and the same names and residues in the same order. By default, a mismatch will only trigger a
            warning. Use True to raise an error instead, or False if you do not want to check the atoms.
        trajectory : path, sequence of paths, or Source, optional
            Trajectory to analyse instead of the Universe's trajectory.
        **options
            Other parameters of `Analysis.run`, such as `backend` and `n_workers`.

        Returns
        -------
        ndarray, shape (n_frames, n_components), float64
            Displacements from the mean along the components in Å.

        Raises
        ------
        MismatchError
            When you have not run the analysis, the number of atoms differs, or you request more components than there
            are. When frames cannot be superposed in the same way as for the components.

        Warns
        -----
        AtomOrderWarning
            When the atoms do not correspond to the atoms of the components.
        MdreelWarning
            When the components were computed from superposed frames and you did not pass `superposition`.
        """
        self.check_run("using transform")
        if superposition is None and self.align:
            self._warn_of_superposition("transform", "give superposition=True to superpose them alike")
        analysis = self.projection(
            atomgroup,
            n_components,
            trajectory,
            superposition=bool(superposition),
            tol_mass=tol_mass,
            match_atoms=match_atoms,
        )
        analysis.run(start, stop, step, verbose=verbose, **options)
        projected: NDArray[np.float64] = analysis.results.projection
        return projected

    @checked_arguments
    def projection(
        self,
        atomgroup: Atoms,
        n_components: int | None = None,
        trajectory: Trajectory | None = None,
        *,
        superposition: bool | None = None,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool | None = True,
    ) -> Projection:
        """Return an analysis that projects frames onto the components, which you can plot or run with other analyses.

        Parameters
        ----------
        atomgroup, n_components, trajectory, tol_mass
            See `transform`.
        superposition : bool, optional
            Whether to superpose frames in the same way as for the components. By default, this is the value of `align`.
        match_atoms : bool, optional
            Whether to check that the atoms correspond to the atoms of the components. If None, a mismatch will only
            trigger a warning.

        Raises
        ------
        MismatchError
            If the atoms do not correspond to the atoms of the components. See also `transform`.
        """
        self.check_run("projecting frames")
        if superposition and not self.align:
            raise MismatchError("superposition=True superposes frames as for the components, which needs align=True")
        n_kept = self.results.p_components.shape[1]
        n_components = n_kept if n_components is None else index(n_components)
        if not 1 <= n_components <= n_kept:
            raise MismatchError(f"n_components must be 1 to {n_kept}, which were kept, not {n_components}")
        group = atoms_of(atomgroup)
        shape = (-1, *self.mean.shape)
        directions = np.ascontiguousarray(self.results.p_components[:, :n_components].T).reshape(shape)
        fit_to = self._reference if (self.align if superposition is None else superposition) else None
        projection = Projection(group, self.mean, directions, fit_to, trajectory)
        check_atoms(group, self.atomgroup, "the components", tol_mass, match_atoms)
        return projection

    @checked_arguments
    def project_single_frame(
        self, components: Components = None, group: AtomGroup | None = None, anchor: str | None = None
    ) -> ComponentStructures:
        """Return a function that replaces the positions in a frame with their projection onto components.

        Parameters
        ----------
        components : int, array_like of int, slice or mask, optional
            Indices of the components, starting from 0. By default, all components are used.
        group : MDAnalysis.AtomGroup, optional
            A group whose residues move together with the atoms of the components.
        anchor : str, optional
            Selection of a single atom in each residue of `group`. The displacement of this atom will also be applied to
            all other atoms of the residue.

        Returns
        -------
        ComponentStructures
            A function that changes the positions of a Timestep (or of a group, in the current frame of its Universe)
            and returns it. It can be used as a transformation of an MDAnalysis trajectory.

        Raises
        ------
        MismatchError
            When you have not run the analysis. When a component does not exist (this error is also an `IndexError`).
            When a residue of `group` does not have exactly one anchor, or an anchor is not among the atoms of the
            components.
        SelectionError
            When `anchor` is not a valid selection.

        Warns
        -----
        MdreelWarning
            When the components were computed from superposed frames, because the function projects frames as stored, as
            in MDAnalysis. When you pass `anchor` without `group`, where it is not used.

        Notes
        -----
        Positions x are replaced with ``m + sum_k ((x - m) . v_k) v_k``, where m are the mean positions and v_k are the
        components.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> u = mda.Universe(PSF, DCD)
        >>> along = mdreel.PCA(u, select="name CA").run().project_single_frame(0, group=u.atoms, anchor="name CA")
        >>> u.trajectory.add_transformations(along)
        """
        self.check_run("projecting frames")
        if group is not None and anchor is None:
            raise MismatchError("'anchor' cannot be 'None' if 'group' is not 'None': select one atom of each residue")
        if group is None and anchor is not None:
            warnings.warn("anchor has no effect without group", MdreelWarning, stacklevel=caller_level())
        if self.align:
            self._warn_of_superposition("project_single_frame", "superpose the trajectory first, with AlignTraj")
        directions = chosen_components(self.results.p_components, components)
        followers = None if group is None else Followers.of(self.atomgroup, group, str(anchor))
        n_atoms = len(self.atomgroup.universe.atoms)
        return ComponentStructures(n_atoms, self.atomgroup.ix.astype(np.int64), self.mean, directions, followers)

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the variance explained by the first components."""
        from mdreel.results.curves import explained_variance

        return explained_variance(self.results.cumulated_variance, title, ax)

    def _number_of_components(self, wanted: int | None) -> int | None:
        """Check and return a number of components."""
        n_all = 3 * self._n_atoms
        wanted = None if wanted is None else index(wanted)
        if wanted is not None and wanted < 1:
            raise MismatchError(f"n_components must be 1 to {n_all}, not {wanted}")
        if wanted is not None and wanted > n_all:
            message = f"n_components is {wanted}, but {self._n_atoms} atoms only have {n_all} components: all are kept"
            warnings.warn(message, MdreelWarning, stacklevel=caller_level())
            return n_all
        return wanted

    def _keep_components(self) -> None:
        """Store the requested number of components in the results."""
        assert self._eigen is not None
        values, vectors = self._eigen
        kept = slice(self._n_components)
        self.results.variance = values[kept]
        self.results.cumulated_variance = (np.cumsum(values) / (values.sum() or 1.0))[kept]
        self.results.p_components = np.ascontiguousarray(vectors[:, kept])

    def _warn_of_superposition(self, method: str, remedy: str) -> None:
        message = f"the components are of frames superposed on the first (align=True), but {method} does not superpose "
        message += f"frames, like MDAnalysis: {remedy}; ignore this if the frames are superposed already"
        if method == "transform":
            message = message.replace("ignore this", "give superposition=False")
        warnings.warn(message, MdreelWarning, stacklevel=caller_level())
