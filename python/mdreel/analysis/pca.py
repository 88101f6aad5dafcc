"""Principal component analysis of positions."""

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
    """Principal components of the positions of atoms: eigenvectors of their covariance matrix.

    Parameters
    ----------
    universe : MDAnalysis.Universe or AtomGroup
        The system.
    select : str
        Atoms, in MDAnalysis's selection language.
    align : bool
        Whether each frame is superposed on the first frame of the trajectory, by the same atoms, all alike.
    mean : array_like, shape (n_atoms, 3), float64, optional
        Positions that displacements are taken from, Å; by default the mean positions.
    n_components : int, optional
        How many components are kept; by default all.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.p_components : ndarray, shape (3 * n_atoms, n_components), float64
        Components, each a column of length 1: x, y, z of the first atom, of the second, and so on; the one with the
        largest variance first. The largest number of each is positive.
    results.variance : ndarray, shape (n_components,), float64
        Eigenvalue of each, Å^2.
    results.cumulated_variance : ndarray, shape (n_components,), float64
        Share of the whole variance that each and all before it have.
    results.mean : ndarray, shape (n_atoms, 3), float64
        Mean positions, or those that were given, Å.
    results.covariance : ndarray, shape (3 * n_atoms, 3 * n_atoms), float64
        The covariance matrix, Å^2.

    Raises
    ------
    SelectionError
        If there are no atoms, or the selection cannot be understood.
    MismatchError
        If `mean` or `n_components` do not fit; in `run`, if there is one frame only.

    Notes
    -----
    ``C = sum_t (x(t) - m)(x(t) - m)^T / (n_frames - 1)``. One pass over the frames: displacements from the first
    frame, in steps of 2^-21 Å (4.8e-7 Å), and their products are added up exactly, and the mean is taken out of the
    sums: the matrix has the same bits whichever the executor, with however many workers and blocks. The eigenvectors
    are LAPACK's.

    Memory does not grow with the number of frames, beyond 16 bytes for each. It grows with the square of the number of
    atoms: sums take 72 bytes for each pair of atoms in every block that waits to be merged, up to 16 for each
    worker; 3.3 MB for 214 atoms, 72 MB for 1000. For many atoms use few workers, or fewer atoms.

    MDAnalysis's `PCA` superposes on the first frame that is analysed, and moves frames in single precision; here it is
    the first frame of the trajectory.

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
        """What it requires of molecules that the boundary of the cell may cut."""
        return Boundaries("displacements are those of the atoms as they lie", whole=True, paths=not self._align)

    def computation(self, source: Source) -> Computation:
        """Return what adds up displacements from the first frame, and their products."""
        self._reference = read_frame(source, 0, self.atoms)
        return covariance(self._reference, self._fitted())

    def conclude(self, tally: Tally) -> None:
        """Make the covariance matrix of the sums, and find its eigenvectors."""
        if tally.n_frames < 2:
            raise MismatchError("a single frame has no covariance: expected two frames or more")
        start = tally.arguments[0]
        n = start.size
        sums, products = tally.sums[:n], np.zeros((n, n))
        products[np.triu_indices(n)] = tally.sums[n:]
        mean = start.ravel() + sums / tally.n_frames if self._mean is None else self._mean.ravel()
        from_start = mean - start.ravel()
        # sum (d - m)(d - m)^T of the sums of d and d d^T.
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
        """Project frames on the components.

        Parameters
        ----------
        atomgroup : MDAnalysis.AtomGroup
            The same atoms in the same order, in any Universe.
        n_components : int, optional
            On how many; by default all that are kept.
        start, stop, step : int, optional
            Which frames, as of a Python slice.
        tol_mass : float
            By how much the masses of two atoms may differ that correspond, amu.
        match_atoms : bool
            Whether the atoms must correspond to those of the components: same masses, same order of
            names and residues. False takes them in the order in which they come.
        trajectory : path, sequence of paths, or Source, optional
            The trajectory, if it is not the one of the Universe.
        **options
            Of `Analysis.run`: `backend`, `n_workers` and others.

        Returns
        -------
        ndarray, shape (n_frames, n_components), float64
            Displacements from the mean along each component, Å. With ``align=True`` frames are superposed as they were
            for the components (MDAnalysis takes them as they are).
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
        """Return the analysis that projects frames on the components: for one pass with others, and pictures.

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
        """Return how alike the spaces are that the components of two analyses span; see `mdreel.analysis.pca.rmsip`.

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
        """Return how much of a component lies in the space of others; see `mdreel.analysis.pca.cumulative_overlap`.

        Raises
        ------
        MismatchError
            If the atoms of the analyses do not correspond.
        """
        return cumulative_overlap(*self._components_of_both(other, Matching(tol_mass, match_atoms)), i, n_components)

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the share of the variance that the first components have."""
        from mdreel.results.components import shares

        return shares(self.results.cumulated_variance, title, ax)

    def _components_of_both(self, other: "PCA", matching: Matching) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the components of this analysis and of another of the same atoms, a row each."""
        if len(self.atomgroup) == len(other.atomgroup):  # other numbers are refused by the length of the components
            matching.check(self.atomgroup, other.atomgroup, "the other components")
        return self.results.p_components.T, other.results.p_components.T

    def _fitted(self) -> tuple[NDArray[np.uint32], NDArray[np.float64], None] | None:
        """Return what is superposed, if anything is."""
        if not self._align:
            return None
        assert self._reference is not None
        return np.arange(len(self.atoms), dtype=np.uint32), self._reference, None


def rmsip(a: NDArray[np.float64], b: NDArray[np.float64], n_components: int | None = None) -> float:
    """Root mean square inner product of two sets of components.

    Parameters
    ----------
    a, b : ndarray, shape (n, n_coordinates), float64
        Components, a row each, such as ``pca.results.p_components.T``.
    n_components : int, optional
        How many of each; by default all.

    Returns
    -------
    float
        ``sqrt(sum_ij (a_i . b_j)^2 / n)``: 0 for orthogonal spaces, 1 for the same (A. Amadei et al., Proteins 36
        (1999) 419-424).

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
    """How much of a component lies in the space of others.

    Parameters
    ----------
    a, b : ndarray, shape (n, n_coordinates), float64
        Components, a row each, such as ``pca.results.p_components.T``.
    i : int
        Which component of `a`.
    n_components : int, optional
        How many of `b`; by default all.

    Returns
    -------
    float
        ``sqrt(sum_j (a_i . b_j)^2)``: 0 if it is orthogonal to all, 1 if it lies in their space (L. Yang et al.,
        Structure 16 (2008) 321-330).

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
