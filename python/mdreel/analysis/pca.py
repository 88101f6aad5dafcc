"""Principal component analysis of atomic positions."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Computation, Source, covariance
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.projection import Projection
from mdreel.analysis.topology.matching import MASS_TOLERANCE, Matching
from mdreel.analysis.topology.reference import read_frame
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import selected

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe


class PCA(Analysis):
    """Principal components of atomic positions, the eigenvectors of their covariance matrix.

    Parameters
    ----------
    universe : MDAnalysis.Universe or AtomGroup
        The system.
    select : str
        The atoms, in MDAnalysis's selection language.
    align : bool
        Whether to superpose each frame on the first frame of the trajectory, with equal weights of the same atoms.
    mean : array_like, shape (n_atoms, 3), float64, optional
        Origin of the displacements, Å; by default the mean positions.
    n_components : int, optional
        Number of components to keep; by default all.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made from a topology alone is then enough.

    Attributes
    ----------
    results.p_components : ndarray, shape (3 * n_atoms, n_components), float64
        Components as columns of length 1, in order of decreasing variance. Rows are x, y, z of the first atom, then of
        the second, and so on. The entry with the largest magnitude is positive.
    results.variance : ndarray, shape (n_components,), float64
        Eigenvalue of each component, Å^2.
    results.cumulated_variance : ndarray, shape (n_components,), float64
        Cumulative share of the total variance.
    results.mean : ndarray, shape (n_atoms, 3), float64
        Mean positions, or the given `mean`, Å.
    results.covariance : ndarray, shape (3 * n_atoms, 3 * n_atoms), float64
        The covariance matrix, Å^2.

    Raises
    ------
    SelectionError
        If there are no atoms, or the selection is not valid.
    MismatchError
        If `mean` or `n_components` does not fit the atoms. In `run`, if there is only one frame.

    Notes
    -----
    The covariance matrix is ``C = sum_t (x(t) - m)(x(t) - m)^T / (n_frames - 1)``. One pass sums the displacements from
    the first frame, in steps of 2^-21 Å (4.8e-7 Å), and their products. The sums are exact, so the matrix is bitwise
    identical for every executor and any number of workers and blocks. LAPACK computes the eigenvectors.

    Memory does not grow with the number of frames, except for 16 bytes for each frame. It grows with the square of the
    number of atoms: sums take 72 bytes for each pair of atoms in every block that waits to be merged, up to 16 blocks
    for each worker. That is 3.3 MB a block for 214 atoms, and 72 MB for 1000. For many atoms, use few workers.

    `PCA` of MDAnalysis superposes frames on the first analysed frame in single precision. mdreel uses the first frame
    of the trajectory.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> pca = PCA(u, select="name CA", align=True).run()
    >>> pca.results.cumulated_variance[:3].round(2)
    array([0.9 , 0.95, 0.97])
    >>> pca.transform(u.select_atoms("name CA"), n_components=2).shape
    (98, 2)
    """

    def __init__(
        self,
        universe: "Universe | AtomGroup",
        select: str = "all",
        align: bool = False,
        mean: ArrayLike | None = None,
        n_components: int | None = None,
        *,
        trajectory: Trajectory | None = None,
    ) -> None:
        atoms = selected(universe, select)
        super().__init__(atoms, trajectory)
        self._align = align
        self._mean = None if mean is None else np.asarray(mean, np.float64).reshape(-1, 3)
        if self._mean is not None and len(self._mean) != len(atoms):
            raise MismatchError(f"mean has {len(self._mean)} atoms, the selection has {len(atoms)}")
        if n_components is not None and not 1 <= n_components <= 3 * len(atoms):
            raise MismatchError(f"n_components must be 1 to {3 * len(atoms)}, not {n_components}")
        self._n_components = n_components
        self._reference: NDArray[np.float64] | None = None

    @property
    def boundaries(self) -> Boundaries:
        """What the analysis requires of molecules that the cell boundary may cut."""
        return Boundaries("displacements are those of the atoms as they lie", whole=True, paths=not self._align)

    def computation(self, source: Source) -> Computation:
        """Return the computation that sums displacements from the first frame, and their products."""
        self._reference = read_frame(source, 0, self.atoms)
        return covariance(self._reference, self._fitted())

    def conclude(self, tally: Tally) -> None:
        """Compute the covariance matrix from the sums, and its eigenvectors."""
        if tally.n_frames < 2:
            raise MismatchError("a single frame has no covariance: expected at least two frames")
        start = tally.arguments[0]
        n = start.size
        sums, products = tally.sums[:n], np.zeros((n, n))
        products[np.triu_indices(n)] = tally.sums[n:]
        mean = start.ravel() + sums / tally.n_frames if self._mean is None else self._mean.ravel()
        from_start = mean - start.ravel()
        # sum (d - m)(d - m)^T from the sums of d and d d^T.
        products -= np.outer(sums, from_start) + np.outer(from_start, sums - tally.n_frames * from_start)
        matrix = np.triu(products) / (tally.n_frames - 1)
        self.results.covariance = matrix + np.triu(matrix, 1).T
        self.results.mean = mean.reshape(-1, 3)
        values, vectors = np.linalg.eigh(self.results.covariance)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        largest = np.abs(vectors).argmax(axis=0)
        vectors = vectors * np.where(vectors[largest, np.arange(n)] < 0, -1.0, 1.0)
        kept = slice(self._n_components)
        self.results.variance = values[kept]
        self.results.cumulated_variance = (np.cumsum(values) / (values.sum() or 1.0))[kept]
        self.results.p_components = np.ascontiguousarray(vectors[:, kept])

    def transform(
        self,
        atomgroup: "AtomGroup",
        n_components: int | None = None,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        *,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        trajectory: Trajectory | None = None,
        **options: Any,
    ) -> NDArray[np.float64]:
        """Return the projections of frames on the components.

        Parameters
        ----------
        atomgroup : MDAnalysis.AtomGroup
            The same atoms in the same order, in any Universe.
        n_components : int, optional
            Number of components; by default all that were kept.
        start, stop, step : int, optional
            Range of frames, as in a Python slice.
        tol_mass : float
            Largest difference between the masses of two corresponding atoms, amu.
        match_atoms : bool
            Whether the atoms must correspond to those of the components: same masses, and names and residues in the
            same order. With False, the atoms are used in the given order without this check.
        trajectory : path, sequence of paths, or Source, optional
            The trajectory, if it is not the one of the Universe.
        **options
            Other parameters of `Analysis.run`, such as `backend` and `n_workers`.

        Returns
        -------
        ndarray, shape (n_frames, n_components), float64
            Displacements from the mean along each component, Å. With ``align=True``, frames are superposed in the same
            way as for the components (unlike in MDAnalysis).
        """
        analysis = self.projection(atomgroup, n_components, trajectory, tol_mass=tol_mass, match_atoms=match_atoms)
        analysis.run(start, stop, step, **options)
        projected: NDArray[np.float64] = analysis.results.projection
        return projected

    def projection(
        self,
        atomgroup: "AtomGroup",
        n_components: int | None = None,
        trajectory: Trajectory | None = None,
        *,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
    ) -> Projection:
        """Return an analysis that projects frames on the components, for plots or a pass with other analyses.

        Raises
        ------
        MismatchError
            If the atoms do not correspond to those of the components.
        """
        self._done()
        results = self.results
        shape = (-1, *results.mean.shape)
        directions = np.ascontiguousarray(results.p_components[:, :n_components].T).reshape(shape)
        projection = Projection(atomgroup, results.mean, directions, self._fitted(), trajectory)
        Matching(tol_mass, match_atoms).check(atomgroup, self.atomgroup, "the components")
        return projection

    def rmsip(
        self,
        other: "PCA",
        n_components: int | None = None,
        *,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
    ) -> float:
        """Return the similarity of the spaces of two sets of components; see `mdreel.analysis.pca.rmsip`.

        Raises
        ------
        MismatchError
            If the atoms of the analyses do not correspond.
        """
        return rmsip(*self._components_of_both(other, Matching(tol_mass, match_atoms)), n_components)

    def cumulative_overlap(
        self,
        other: "PCA",
        i: int = 0,
        n_components: int | None = None,
        *,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
    ) -> float:
        """Return the overlap of a component with the space of others; see `mdreel.analysis.pca.cumulative_overlap`.

        Raises
        ------
        MismatchError
            If the atoms of the analyses do not correspond.
        """
        return cumulative_overlap(*self._components_of_both(other, Matching(tol_mass, match_atoms)), i, n_components)

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the explained variance of the first components."""
        from mdreel.results.curves import explained_variance

        return explained_variance(self.results.cumulated_variance, title, ax)

    def _components_of_both(self, other: "PCA", matching: Matching) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the components of this and another analysis of the same atoms, as rows."""
        if len(self.atomgroup) == len(other.atomgroup):  # for different numbers, the components raise the error
            matching.check(self.atomgroup, other.atomgroup, "the other components")
        return self.results.p_components.T, other.results.p_components.T

    def _fitted(self) -> tuple[NDArray[np.uint32], NDArray[np.float64], None] | None:
        """Return indices, reference and weights of the superposed atoms; None without superposition."""
        if not self._align:
            return None
        assert self._reference is not None
        return np.arange(len(self.atoms), dtype=np.uint32), self._reference, None


def rmsip(a: NDArray[np.float64], b: NDArray[np.float64], n_components: int | None = None) -> float:
    """Return the root mean square inner product of two sets of components.

    Parameters
    ----------
    a, b : ndarray, shape (n, n_coordinates), float64
        Components as rows, such as ``pca.results.p_components.T``.
    n_components : int, optional
        Number of components to use from each set; by default all.

    Returns
    -------
    float
        ``sqrt(sum_ij (a_i . b_j)^2 / n)``, which is 0 for orthogonal and 1 for identical spaces (A. Amadei et al.,
        Proteins 36 (1999) 419-424).

    Raises
    ------
    MismatchError
        If the components have different lengths.
    """
    a, b = _same_length(a, b)
    a, b = a[:n_components], b[:n_components]
    return float(np.sqrt(((a @ b.T) ** 2).sum() / len(a)))


def cumulative_overlap(
    a: NDArray[np.float64], b: NDArray[np.float64], i: int = 0, n_components: int | None = None
) -> float:
    """Return the overlap of a component with the space of other components.

    Parameters
    ----------
    a, b : ndarray, shape (n, n_coordinates), float64
        Components as rows, such as ``pca.results.p_components.T``.
    i : int
        Index of the component of `a`.
    n_components : int, optional
        Number of components of `b`; by default all.

    Returns
    -------
    float
        ``sqrt(sum_j (a_i . b_j)^2)``, which is 0 for a component orthogonal to all others, and 1 for a component in
        their space (L. Yang et al., Structure 16 (2008) 321-330).

    Raises
    ------
    MismatchError
        If the components have different lengths.
    """
    a, b = _same_length(a, b)
    return float(np.sqrt(((b[:n_components] @ a[i]) ** 2).sum()))


def _same_length(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = np.atleast_2d(np.asarray(a, np.float64)), np.atleast_2d(np.asarray(b, np.float64))
    if first.shape[1] != second.shape[1]:
        raise MismatchError(f"components have {first.shape[1]} and {second.shape[1]} coordinates")
    return first, second
